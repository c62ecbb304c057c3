import torch

from encoding import implements
from rotary import Rotary, rotate


@implements("rope-dinov3")
class DINOv3(Rotary):
    """cos and sin [N, Dh/2]. With bounds [5], in training the coordinates places [N, 2] become
    (places + shift) jitter rescale, drawn for each pass: shift and ln jitter of each axis, ln rescale
    uniform in +- bounds; angles are those times frequency [Dh/4]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.halves = self.options["dinov3-layout"] == "half"

    def begin(self, samples, drawn):
        self.drawn = None
        if self.training and hasattr(self, "bounds"):
            self.drawn = (2 * torch.rand_like(self.bounds) - 1) * self.bounds

    def qkv(self, a):
        if self.drawn is None:
            return super().qkv(a)
        at = (self.places[self.place] + self.drawn[:2]) * (self.drawn[2:4] + self.drawn[4]).exp()
        angles = (at[..., None] * self.frequency).flatten(-2)
        cos, sin = angles.cos(), angles.sin()
        return rotate(a.q, cos, sin, self.halves), rotate(a.k, cos, sin, self.halves), a.v
