import math

import torch
import torch.nn.functional as F

from encoding import implements
from table import Table


@implements("learn-fourier")
class LearnedFourier(Table):
    """[cos(x W^T) | sin(x W^T)] / sqrt(F) of coordinates x through out(GELU(in)): waves W [F/2, M/G],
    in_weight [H', F], in_bias, out_weight [D/G, H'], out_bias, for G groups of coordinates."""

    def __init__(self, config, part):
        super().__init__(config, part)
        at = self.points_of()
        self.constant("x", at.reshape(-1, self.waves.shape[1]))  # [N G, M/G]

    def added(self, layer):
        if layer > 0:
            return None
        angles = self.x @ self.waves.T
        r = torch.cat((angles.cos(), angles.sin()), -1) / math.sqrt(2 * len(self.waves))
        y = F.linear(F.gelu(F.linear(r, self.in_weight, self.in_bias)), self.out_weight, self.out_bias)
        return y.reshape(len(self.place), -1)


@implements("fourier-features")
class FourierFeatures(Table):
    """C z + b, weight C [D, features] and bias b, for fixed features z of points [N, M]: sines and cosines
    of 2 pi times waves [m, M] (gaussian), of octaves [m] of each coordinate, or the points."""

    def added(self, layer):
        if layer > 0:
            return None
        z = self.points
        if hasattr(self, "waves"):
            angles = 2 * math.pi * z @ self.waves.T
            z = torch.cat((angles.sin(), angles.cos()), -1)
        elif hasattr(self, "octaves"):
            angles = z[..., None] * self.octaves  # [N, M, m]
            z = torch.stack((angles.sin(), angles.cos()), -1).flatten(1)
        return F.linear(z, self.weight, self.bias)
