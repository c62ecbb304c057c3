import torch
import torch.nn.functional as F

from bias import Bias
from encoding import implements


@implements("relative-bias")
class RelativeBias(Bias):
    """bias [L, H, 2N - 1], a number for each i - j, or [L, H, N N], one for each pair of places; times
    the scale of the logits with relative-bias-scaled."""

    def __init__(self, config, part):
        super().__init__(config, part)
        n = len(self.place)
        row = self.apart() + n - 1
        if self.options["relative-bias"] == "full":
            row = self.place[:, None] * n + self.place
        self.constant("row", row)

    def logits(self, a, logits):
        bias = self.bias[a.layer][:, self.row]
        return logits + (bias * a.scale if self.options["relative-bias-scaled"] == "true" else bias)


@implements("tisa")
class TISA(Bias):
    """f(k) = sum over s of a_s exp(-|b_s| (k - c_s)^2), a, b and c [L, S, H], at k = j - i or i - j - 1."""

    def added_bias(self, layer):
        a, b, c = (x[layer].T[:, :, None, None] for x in (self.a, self.b, self.c))
        offset = -self.apart() if self.options["tisa-offset"] == "j-i" else self.apart() - 1
        return (a * (-b.abs() * (offset - c).square()).exp()).sum(1)


@implements("dynamic-bias")
class DynamicBias(Bias):
    """A network of the offset i - j or its logarithm, with SiLU, of all layers."""

    def __init__(self, config, part):
        super().__init__(config, part)
        offset = self.apart().double()
        if self.options["dynamic-bias-offsets"] == "log":
            offset = offset.sign() * offset.abs().log1p()
        self.constant("offset", offset[..., None])

    def added_bias(self, layer):
        x = self.offset
        for i in range(int(self.options["dynamic-bias-depth"])):
            x = F.silu(F.linear(x, getattr(self, "%d_weight" % i), getattr(self, "%d_bias" % i)))
        return F.linear(x, self.out_weight, self.out_bias).permute(2, 0, 1)


@implements("edge-geometry")
class EdgeGeometry(Bias):
    """weight [L, H, M + 1] times [p_j - p_i, |p_j - p_i|] of coordinates p [N, M]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        at = self.points_of()
        apart = at[None] - at[:, None]
        self.constant("edges", torch.cat((apart, apart.norm(dim=-1, keepdim=True)), -1))

    def added_bias(self, layer):
        return (self.edges @ self.weight[layer].T).permute(2, 0, 1)
