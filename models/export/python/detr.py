import torch

from encoding import Encoding, implements


@implements("detr")
class DETR(Encoding):
    """q and k are projections of x + P, v of x: P is fixed [1, N, D], sinusoids, or [column | row], each
    [1, places, D/2]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        cells = torch.tensor(self.grid)
        self.constant("r", cells[:, 0])
        self.constant("c", cells[:, 1])

    def qkv(self, a):
        if hasattr(self, "fixed"):
            table = self.fixed
        else:
            table = torch.cat((self.column[:, self.c], self.row[:, self.r]), -1)
        zero = torch.zeros_like(table[:, :1])
        (q, k, _), (q0, k0, _) = a.project(table), a.project(zero)  # less the biases, which are there
        return a.q + q - q0, a.k + k - k0, a.v
