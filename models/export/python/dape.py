import torch
import torch.nn.functional as F

from encoding import Encoding, implements
from fire import fire_bias
from kerple import log_kernel


@implements("dape")
class DAPE(Encoding):
    """logits + B + f([logits; B]) over the 2H numbers of a pair, f = W_2 LeakyReLU(W_1 z + b_1) + b_2,
    convolutions over k keys beside each other: mix_in_weight [L, k, width, 2H], mix_out_weight
    [L, k, H, width]. B is the causal bias of alibi (slopes), kerple (a, p) or fire (its weights)."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.base, _, threshold = self.options["dape"].partition(":")
        self.threshold = float(threshold or 256)
        self.constant("distance", self.apart().clamp(min=0).double())
        self.constant("query", self.place.double())
        self.constant("seen", (self.apart() >= 0).double())
        self.constant("order", self.place.argsort())

    def bias(self, layer):
        if self.base == "alibi":
            return -self.slopes[:, None, None] * self.distance
        if self.base == "kerple":
            return log_kernel(self.a, self.p, self.distance)
        weights = (self.c, self.multiplier, self.in_weight, self.in_bias, self.out_weight, self.out_bias)
        return fire_bias([w[layer] for w in weights], self.query, self.distance, self.threshold, 0.01)

    def mix(self, x, weight, bias):
        """Applies weight [k, out, in] over keys beside each other to x [B, in, N, N]."""
        kernel = weight.permute(1, 2, 0)[:, :, None]  # [out, in, 1, k]
        return F.conv2d(x, kernel, bias, padding=(0, len(weight) // 2))

    def logits(self, a, logits):
        layer, bias = a.layer, self.bias(a.layer)
        z = torch.cat((logits, bias.expand_as(logits)), 1)
        wide = self.mix_in_weight.shape[1] > 1
        if wide:
            z = (z * self.seen)[..., self.order]
        z = F.leaky_relu(self.mix(z, self.mix_in_weight[layer], self.mix_in_bias[layer]), 0.01)
        z = self.mix(z, self.mix_out_weight[layer], self.mix_out_bias[layer])
        return logits + bias + (z[..., self.place] if wide else z)
