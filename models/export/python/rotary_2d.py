import torch

from encoding import Encoding, implements
from rotary import Rotary, rotate


class TurnedByLayer(Encoding):
    """q and k are turned by trained angles of each layer, which angles(layer) returns: [H, N, Dh/2]."""

    halves = True

    def qkv(self, a):
        angles = self.angles(a.layer)
        cos, sin = angles.cos(), angles.sin()
        return rotate(a.q, cos, sin, self.halves), rotate(a.k, cos, sin, self.halves), a.v


class Axial(Rotary):
    """cos and sin [N, P]: the first half of the pairs are turned by one coordinate, the rest by the
    other."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.blocks = 2


class Mixed(TurnedByLayer):
    """frequencies [L, 2, H, Dh/2] times places [N, 2] are the angles."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.halves = self.options["rope-layout"] == "half"

    def angles(self, layer):
        at = self.places[self.place]
        return at @ self.frequencies[layer].permute(1, 0, 2)


@implements("rope-2d")
def rope_2d(config, part):
    return (Mixed if part["options"]["rope-2d"] == "mixed" else Axial)(config, part)
