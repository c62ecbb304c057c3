import math

import torch
import torch.nn.functional as F

from encoding import Encoding, implements


@implements("pope")
class PoPE(Encoding):
    """Logits of complex numbers of length softplus(q) and softplus(k) and angles of their places: cos and
    sin [N, R], the angle of k plus phase [H, R], kept in [-2 pi, 0]. Dimensions beyond R are as usual."""

    def logits(self, a, logits):
        phase = self.phase.clamp(-2 * math.pi, 0)[:, None]  # [H, 1, R]
        cos, sin = self.cos[self.place], self.sin[self.place]
        key_cos = cos * phase.cos() - sin * phase.sin()
        key_sin = sin * phase.cos() + cos * phase.sin()

        def polar(x, cos, sin):
            r = cos.shape[-1]
            length = F.softplus(x[..., :r])
            return torch.cat((length * cos, length * sin, x[..., r:]), -1)

        return polar(a.q, cos, sin) @ polar(a.k, key_cos, key_sin).transpose(-1, -2) * a.scale
