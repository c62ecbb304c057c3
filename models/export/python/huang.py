from encoding import Encoding, implements
from pairs import gather_pairs


@implements("huang")
class Huang(Encoding):
    """Four ways of offsets j - i, clipped to +-k, with table [L, rows, 1 or Dh]: 1 and 2 multiply the
    logits by a number (1 by |j - i|), 3 weighs q_id k_jd, 4 adds q_i a_ij + k_j a_ij before the scale."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.method, clip = self.options["huang-method"], int(self.options["huang-clip"])
        if self.method == "1":
            row = self.apart().abs().clamp(max=clip)
        else:
            row = (-self.apart()).clamp(-clip, clip) + clip
        self.constant("row", row)

    def logits(self, a, logits):
        table = self.table[a.layer]
        if self.method == "3":
            return logits + (a.q[:, :, :, None] * (table[self.row] - 1) * a.k[:, :, None]).sum(-1) * a.scale
        if self.method == "4":
            by_query = gather_pairs(a.q @ table.T, self.row)
            by_key = gather_pairs(a.k @ table.T, self.row.T).transpose(-1, -2)
            return logits + (by_query + by_key) * a.scale
        return logits * table[self.row, 0]
