import torch

from encoding import implements
from table import Table


@implements("space-time")
class SpaceTime(Table):
    """space [T, places, D] + time [T, frames, D]; frames and places in them are counted in ascending
    order."""

    def __init__(self, config, part):
        super().__init__(config, part)
        at = self.points_of(3)
        self.constant("frame", at[:, 0].unique(return_inverse=True)[1])
        self.constant("spot", at[:, 1:].unique(dim=0, return_inverse=True)[1])

    def added(self, layer):
        if layer >= len(self.space):
            return None
        return self.space[layer][self.spot] + self.time[layer][self.frame]
