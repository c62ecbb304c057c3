from encoding import Encoding, implements
from pairs import gather_pairs


@implements("transformer-xl")
class TransformerXL(Encoding):
    """u k_j + (q_i + v) W_R R_(i-j) is added to q_i k_j, before the scale: u and v [H, Dh], keys W_R
    [L, D, D], table R [distances, D]. With free keys: u k_j + q_i r_(i-j) + b_(i-j), vectors r
    [L, distances, H, Dh] and terms b [L, distances, H]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        direction, apart = self.options["xl-direction"], self.apart()
        if direction == "causal":
            row = apart.clamp(min=0)  # keys after the query are masked
        else:
            row = (-apart if direction == "mirrored" else apart) + len(apart) - 1
        self.constant("row", row)

    def logits(self, a, logits):
        if hasattr(self, "keys"):
            keys = (self.table @ self.keys[a.layer].T).unflatten(-1, (self.heads, self.head_width))
            by_distance = (a.q + self.v[:, None]) @ keys.permute(1, 2, 0)
        else:
            by_distance = a.q @ self.vectors[a.layer].permute(1, 2, 0)
            by_distance = by_distance + self.terms[a.layer].T[:, None]
        content = (a.k * self.u[:, None]).sum(-1)[:, :, None]
        return logits + (gather_pairs(by_distance, self.row) + content) * a.scale
