import torch
import torch.nn.functional as F

from encoding import Encoding, implements
from rotary import rotate


@implements("grape-m")
class GrapeM(Encoding):
    """q and k are turned: by -p theta (commuting), by -theta times the sum over places s < p of
    omega_s = sigmoid((W x_s + b)/c) (contextual), or by exp(p w (a b^T - b a^T)) (rank-2).

    log_frequencies [L, H or 1, Dh/2] are c log theta (commuting) or log theta; omega_weight [L, G, D],
    omega_bias [L, G]; a and b [L, H, Dh]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.kind, *self.words = self.options["grape-m"].split(":")
        self.scale = float(self.options["grape-scale"])
        self.constant("p", self.place.double() + float(self.options["positions-from"]))
        self.constant("before", (self.apart() > 0).double())

    def qkv(self, a):
        if self.kind == "rank-2":
            return self.in_plane(a.q, a.layer), self.in_plane(a.k, a.layer), a.v
        logs = self.log_frequencies[a.layer][:, None]  # [H or 1, 1, Dh/2]
        if self.kind == "commuting":
            angles = self.p[:, None] * (logs / self.scale).exp()
        else:
            omega = F.linear(a.x, self.omega_weight[a.layer], self.omega_bias[a.layer])
            phase = (self.before @ (omega / self.scale).sigmoid()).transpose(1, 2)  # [B, G, N]
            angles = phase[..., None] * logs.exp()
        cos, sin = angles.cos(), -angles.sin()
        return rotate(a.q, cos, sin, True), rotate(a.k, cos, sin, True), a.v

    def in_plane(self, x, layer):
        a, b = self.a[layer][:, None], self.b[layer][:, None]  # [H, 1, Dh]

        def dot(x, y):
            return (x * y).sum(-1, keepdim=True)

        def generator(x):
            return a * dot(b, x) - b * dot(a, x)

        speed = (dot(a, a) * dot(b, b) - dot(a, b).square()).sqrt()
        w = float(self.words[0]) if self.words else 1
        angles = w * self.p[:, None] * speed
        once = generator(x)
        return x + angles.sin() / speed * once + (1 - angles.cos()) / speed.square() * generator(once)
