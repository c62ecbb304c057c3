import math

import torch

from bias import Bias
from encoding import implements


@implements("alibi")
class ALiBi(Bias):
    """-slopes [H] times a distance: i - j (causal), |i - j| (symmetric), that less 1/2 for keys before
    the query (sided), or that of coordinates (euclidean); over sqrt(Dh) with alibi-scaled."""

    def __init__(self, config, part):
        super().__init__(config, part)
        apart, form = self.apart().double(), self.options["alibi"]
        if form == "causal":
            distance = apart.clamp(min=0)
        elif form == "euclidean":
            at = self.points_of()
            distance = (at[:, None] - at[None]).square().sum(-1).sqrt()
        else:
            distance = apart.abs()
            if form == "sided":
                distance = distance - 0.5 * (apart > 0)
        if self.options["alibi-scaled"] == "true":
            distance = distance / math.sqrt(self.head_width)
        self.constant("distance", distance)

    def added_bias(self, layer):
        return -self.slopes[:, None, None] * self.distance


@implements("sandwich")
class Sandwich(Bias):
    """weights [H] times the sum of cos((i - j) 10000^(-2m/d)) over m."""

    def __init__(self, config, part):
        super().__init__(config, part)
        width, first = int(self.options["sandwich-width"]), int(self.options["sandwich-first"])
        steps = torch.arange(first, first + width // 2, dtype=torch.float64)
        angles = self.apart()[..., None] * 10000 ** (-2 * steps / width)
        self.constant("curve", (angles.cos() - first).sum(-1))

    def added_bias(self, layer):
        return self.weights[:, None, None] * self.curve
