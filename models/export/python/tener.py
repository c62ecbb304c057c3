from encoding import Encoding, implements
from pairs import gather_pairs


@implements("tener")
class TENER(Encoding):
    """q_i P_(i-j) + u k_j + v P_(i-j) is added to q_i k_j before the scale: sinusoids P [2N - 1, Dh] of
    offsets from -(N - 1) on, u and v [L, H, Dh]; with tener-key-term k_j P_(i-j) too."""

    def __init__(self, config, part):
        super().__init__(config, part)
        row = self.apart() + len(self.place) - 1
        self.constant("key_row", row)
        self.constant("row", row.T if self.options["tener-offset"] == "j-i" else row)

    def logits(self, a, logits):
        u, v = self.u[a.layer][:, None], self.v[a.layer][:, None]
        added = gather_pairs((a.q + v) @ self.sinusoids.T, self.row) + (a.k * u).sum(-1)[:, :, None]
        if self.options["tener-key-term"] == "true":
            by_key = gather_pairs(a.k @ self.sinusoids.T, self.key_row.T)
            added = added + by_key.transpose(-1, -2)
        return logits + added * a.scale
