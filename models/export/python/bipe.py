import torch
import torch.nn.functional as F

from encoding import implements
from rotary import Rotary


@implements("bipe")
class BiPE(Rotary):
    """table [1, places, D] at the place in a segment, a row of the grid, is added to the first input; q
    and k are turned by the segment's number, cos and sin [segments, Dh/2]; or -96 slopes (s_i - s_j) is
    added to the logits."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.halves, self.dropout = True, config["pe_dropout"]
        cells = torch.tensor(self.grid)
        most = int(self.options["bipe-places"]) or len(self.grid)
        self.constant("segment", cells[:, 0])
        self.constant("spot", cells[:, 1].clamp(max=most - 1))
        apart = (self.segment[:, None] - self.segment).double()
        self.constant("segments", apart if self.options["bipe-direction"] == "causal" else apart.abs())

    def row_of_tokens(self):
        return self.segment

    def embed(self, layer, x):
        if layer > 0:
            return x
        return x + F.dropout(self.table[0][self.spot], self.dropout, self.training)

    def qkv(self, a):
        return super().qkv(a) if hasattr(self, "cos") else (a.q, a.k, a.v)

    def logits(self, a, logits):
        if hasattr(self, "cos"):
            return logits
        return logits - 96 * self.slopes[:, None, None] * self.segments
