import torch
import torch.nn.functional as F

from bias import Bias, of_layer
from encoding import implements


def fire_bias(weights, place, distance, threshold, slope):
    """Returns MLP(psi(d) / psi(max(i, |m L_0|))) [H, N, N], psi(x) = ln(|c x| + 1), of weights c, m,
    in_weight [width, 1], in_bias, out_weight [H, width], out_bias; slope is that of ReLU below 0."""
    c, m, in_weight, in_bias, out_weight, out_bias = weights

    def psi(x):
        return torch.log1p((c * x).abs())

    whole = psi(torch.maximum((m * threshold).abs(), place)) + 1e-6
    x = (psi(distance) / whole[:, None])[..., None]
    hidden = F.leaky_relu(F.linear(x, in_weight, in_bias), slope)
    return F.linear(hidden, out_weight, out_bias).permute(2, 0, 1)


@implements("fire")
class FIRE(Bias):
    """A network of the distance as a part of the query's place, of each layer or of all: c and
    multiplier [T], in_weight [T, width, 1], in_bias, out_weight [T, H, width], out_bias."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.threshold = float(self.options["fire-threshold"])
        self.constant("distance", self.apart().double())
        self.constant("query", self.place.double())

    def added_bias(self, layer):
        weights = (self.c, self.multiplier, self.in_weight, self.in_bias, self.out_weight, self.out_bias)
        return fire_bias([of_layer(w, layer) for w in weights], self.query, self.distance,
                         self.threshold, 0)
