import torch

from encoding import implements
from pairs import gather_pairs
from rotary import rotate
from table import Table


@implements("random")
class Random(Table):
    """frozen: x + table, table [T, N, D] drawn once from N(0, 1) and never trained.
    ruoss: places drawn for each sample, sorted and distinct, of 0 .. random-max - 1, in training and
    evaluation; in sinusoids, in trained rows [T, random-max, D], or in angles of rope. With
    transformer-xl and alibi tokens d apart are as if r_d apart, 0 = r_0 < r_1 < ... drawn."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.frozen = self.options["random"] == "frozen"
        self.base, self.most = self.options["random-base"], int(self.options["random-max"])
        self.repeat = self.options["pe-placement"] != "input"
        self.at = None
        width = self.head_width if self.base == "rope" else self.d_model
        steps = torch.arange((width + 1) // 2, dtype=torch.float64)
        self.constant("frequency", 10000 ** (-2 * steps / width))
        self.distances = not self.frozen and self.base in ("transformer-xl", "alibi")
        if self.distances:
            apart = self.apart()
            n = len(apart)
            self.constant("before", apart)  # how far the key is before the query
            self.constant("row", apart + n - 1)
            self.constant("offset", torch.arange(1 - n, n))

    def begin(self, samples, drawn):
        if self.frozen:
            return
        if drawn is None:
            n = len(self.place)
            first = 1 if self.distances else 0
            ascending = [torch.randperm(self.most - first)[:n - first].sort()[0] for _ in range(samples)]
            drawn = torch.stack([torch.cat((torch.arange(first), first + at)) for at in ascending])
        self.drawn = drawn.to(self.frequency)
        self.at = self.drawn[:, self.place]  # [B, N]

    def angles(self):
        return self.at[..., None] * self.frequency

    def added(self, layer):
        """Returns P [B, N, D]."""
        if self.frozen:
            return self.table[layer][self.place] if layer < len(self.table) else None
        if self.distances or self.base == "rope" or layer > 0 and not self.repeat:
            return None
        if self.base == "learn":
            return self.rows[min(layer, len(self.rows) - 1)][self.at.long()]
        angles = self.angles()
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[..., :self.d_model]

    def embed(self, layer, x):
        rows = self.added(layer)
        return x if rows is None else x + rows

    def qkv(self, a):
        if self.frozen or self.base != "rope":
            return a.q, a.k, a.v
        cos, sin = self.angles().cos()[:, None], self.angles().sin()[:, None]
        return rotate(a.q, cos, sin, False), rotate(a.k, cos, sin, False), a.v

    def logits(self, a, logits):
        if not self.distances:
            return logits
        if self.base == "alibi":
            distance = self.drawn[:, self.before.abs()] - 0.5 * (self.before > 0)  # [B, N, N]
            return logits - self.slopes[:, None, None] * distance[:, None]
        angles = (self.drawn[:, self.offset.abs()] * self.offset.sign())[..., None] * self.frequency
        table = torch.cat((angles.sin(), angles.cos()), -1)  # [B, 2N - 1, D]
        keys = (table @ self.keys[a.layer].T).unflatten(-1, (self.heads, self.head_width))
        by_distance = (a.q + self.v[:, None]) @ keys.permute(0, 2, 3, 1)
        content = (a.k * self.u[:, None]).sum(-1)[:, :, None]
        return logits + (gather_pairs(by_distance, self.row) + content) * a.scale
