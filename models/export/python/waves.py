import math

import torch

from encoding import implements
from table import Table


@implements("learn-waves")
class Waves(Table):
    """sin and cos of p w_k side by side, w_k = base^(-f_k/(D/2)); index f [T, D/2], rounded up."""

    def added(self, layer):
        if layer >= len(self.index):
            return None
        rate = -math.log(float(self.options["sinusoid-base"])) / (self.d_model / 2)
        angles = self.place[:, None] * (self.index[layer] * rate).exp()
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[:, :self.d_model]
