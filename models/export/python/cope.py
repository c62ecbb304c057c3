from bias import of_layer
from encoding import Encoding, implements


@implements("cope")
class CoPE(Encoding):
    """logits + q_i e[p_ij], p_ij = min(sum of sigmoid(logits_it) over t = j..i, P - 1), with e between
    whole numbers by linear interpolation; table e [T, P, Dh]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.causal = self.options["cope-direction"] == "causal"
        self.constant("seen", (self.apart() >= 0).double())
        self.constant("order", self.place.argsort())

    def logits(self, a, logits):
        table = of_layer(self.table, a.layer)
        gates = logits.sigmoid()
        if self.causal:
            gates = gates * self.seen
        sums = gates[..., self.order].flip(-1).cumsum(-1).flip(-1)[..., self.place]
        counts = sums.clamp(0, len(table) - 1)
        by_count = a.q @ table.T  # [B, H, N, P]
        below = counts.detach().floor()
        low = by_count.gather(-1, below.long())
        high = by_count.gather(-1, (below + 1).clamp(max=len(table) - 1).long())
        added = low + (counts - below) * (high - low)
        if self.options["cope-scaled"] == "true":
            added = added * a.scale
        return logits + added
