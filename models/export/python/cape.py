import math

import torch

from encoding import Encoding, implements


@implements("cape")
class CAPE(Encoding):
    """sqrt(D) x + sin(at frequencies + phases) at the first layer: frequencies [A, D], phases [D] for A
    coordinates. In training positions are shifted and scaled at random, anew for each sample."""

    def __init__(self, config, part):
        super().__init__(config, part)
        o = self.options
        self.limits = [float(o["cape-" + name]) for name in ("global", "local", "scaling")]
        self.content = math.sqrt(self.d_model) if o["cape-content"] == "true" else 1
        if o["cape"] == "1d":
            at = self.points_of(1)
            if o["cape-centred"] == "true":
                at = at - at.mean()
            steps = torch.ones(1, dtype=torch.float64)
        else:
            cells = torch.tensor(self.grid, dtype=torch.float64)
            steps = 2 / cells.max(0)[0].clamp(min=1)
            at = cells * steps - 1
        self.constant("at", at)
        self.constant("steps", steps)

    def uniform(self, *shape):
        return 2 * torch.rand(shape, dtype=self.at.dtype, device=self.at.device) - 1

    def embed(self, layer, x):
        if layer > 0:
            return x
        at = self.at
        if self.training:
            (n, axes), samples = at.shape, len(x)
            shift, local, scaling = self.limits
            at = at + shift * self.uniform(samples, 1, axes)
            at = at + local * self.steps * self.uniform(samples, n, axes)
            at = at * (math.log(scaling) * self.uniform(samples, 1, 1)).exp()
        return self.content * x + (at @ self.frequencies + self.phases).sin()
