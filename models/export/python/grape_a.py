import math

import torch
import torch.nn.functional as F

from encoding import Encoding, implements
from rotary import rotate


@implements("grape-a")
class GrapeA(Encoding):
    """-slopes (i - j) softplus(omega) g is added to the logits, omega [L, H], for gates g =
    softplus(u k_j / sqrt(Dh)) or softplus(v q_i / sqrt(Dh)) or their sum, u and v [L, H, Dh]. path: slopes
    times the sum of ln sigmoid(p_i R_l norm(p_l) / Dh) over l = j + 1 .. i, p = W x, weight [L, D, D]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("distance", self.apart().clamp(min=0).double())
        self.constant("seen", (self.apart() >= 0).double())
        self.constant("order", self.place.argsort())

    def gate(self, x, vector):
        """Returns softplus(vector x / sqrt(Dh)) [B, H, N] of x [B, H, N, Dh]."""
        if self.options["grape-a-unit"] == "true":
            vector = F.normalize(vector, dim=-1)
        return F.softplus((x * vector[:, None]).sum(-1) / math.sqrt(self.head_width))

    def logits(self, a, logits):
        slopes = self.slopes[:, None, None]
        if self.options["grape-a"] == "path":
            return logits + slopes * self.path(a)
        gates = 0
        if hasattr(self, "u"):
            gates = gates + self.gate(a.k, self.u[a.layer])[:, :, None]
        if hasattr(self, "v"):
            gates = gates + self.gate(a.q, self.v[a.layer])[..., None]
        omega = F.softplus(self.omega[a.layer])[:, None, None]
        return logits - omega * gates * slopes * self.distance

    def path(self, a):
        p = F.linear(a.x, self.weight[a.layer])
        p = p.unflatten(-1, (self.heads, self.head_width)).transpose(1, 2)
        eps = torch.finfo(p.dtype).eps  # as torch.nn.functional.rms_norm adds
        normed = p / (p.square().mean(-1, keepdim=True) + eps).sqrt()
        angles = self.place[:, None].to(p.dtype)
        turned = rotate(normed, angles.cos(), -angles.sin(), True)
        steps = F.logsigmoid(p @ turned.transpose(-1, -2) / self.head_width) * self.seen
        sums = steps[..., self.order].cumsum(-1)[..., self.place]
        return (steps.sum(-1, keepdim=True) - sums) * self.seen
