import torch

from encoding import implements
from table import Table


@implements("axial")
class AxialTable(Table):
    """slow [T, ceil(N/F), d] at place div F and fast [T, F, d] at place mod F, side by side or added."""

    def added(self, layer):
        if layer >= len(self.fast):
            return None
        f, join = self.fast.shape[1], self.options["axial-join"]
        slow = self.slow[layer][torch.div(self.place, f, rounding_mode="floor")]
        fast = self.fast[layer][self.place % f]
        if join == "sum":
            return slow + fast
        return torch.cat((slow, fast) if join == "slow-first" else (fast, slow), -1)
