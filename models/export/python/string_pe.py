import math

import torch

from encoding import Encoding, implements


@implements("string")
class Circulant(Encoding):
    """q and k are turned by exp(sum over a of r_a (C_a - C_a^T)), C_a circulant of c [L, H, A, Dh], at
    coordinates r [N, A]: in the basis of cosines, then sines, then vectors that stay [Dh, Dh]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        d = self.head_width
        pairs = (d - 1) // 2
        turns = 2 * math.pi * torch.outer(torch.arange(1, pairs + 1), torch.arange(d)).double() / d
        still = [torch.ones(d, dtype=torch.float64) / math.sqrt(d)]
        if d % 2 == 0:
            still.append(still[0] * (-1) ** torch.arange(d))
        waves = math.sqrt(2 / d) * torch.cat((turns.cos(), turns.sin()))
        self.constant("basis", torch.cat((waves, torch.stack(still))))
        self.constant("sines", 2 * turns.sin().T)  # [Dh, pairs]
        self.constant("at", self.points_of())

    def qkv(self, a):
        angles = self.at @ (self.c[a.layer] @ self.sines)  # [H, N, pairs]
        cos, sin, pairs = angles.cos(), angles.sin(), angles.shape[-1]

        def turned(x):
            x = x @ self.basis.T
            even, odd = x[..., :pairs], x[..., pairs:2 * pairs]
            return torch.cat((even * cos - odd * sin, even * sin + odd * cos, x[..., 2 * pairs:]),
                             -1) @ self.basis

        return turned(a.q), turned(a.k), a.v
