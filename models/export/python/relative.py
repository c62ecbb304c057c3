import torch.nn.functional as F

from encoding import Encoding, implements
from pairs import gather_pairs


@implements("relative")
class Relative(Encoding):
    """q_i r_ij is added to q_i k_j, before the scale. keys [L, R, Dh], shared by heads.

    shaw: r_ij is row clip(j - i) + k of 2k + 1; with values [L, R, Dh] its like is added to v_j too.
    skew: r_ij is row N - 1 - (i - j), under a causal mask and without an output projection.
    """

    def __init__(self, config, part):
        super().__init__(config, part)
        if self.options["relative"] == "skew":
            last = self.keys.shape[1] - 1
            row = (last - self.apart()).clamp(max=last)  # keys after the query are masked
        else:
            clip = int(self.options["relative-clip"])
            row = (-self.apart()).clamp(-clip, clip) + clip
        self.constant("row", row)

    def logits(self, a, logits):
        return logits + gather_pairs(a.q @ self.keys[a.layer].T, self.row) * a.scale

    def output(self, a, weights, out):
        if not hasattr(self, "values"):
            return out
        rows = F.embedding(self.row, self.values[a.layer])  # [N, N, Dh]
        return out + (weights.unsqueeze(-2) @ rows).squeeze(-2)
