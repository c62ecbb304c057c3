from encoding import implements
from rotary import Rotary


@implements("rope-3d")
class Rotary3D(Rotary):
    """cos and sin [N, P]: a block of pairs for each coordinate; the dimensions left over stay."""

    def __init__(self, config, part):
        super().__init__(config, part)
        axes = self.options["rope-axes"]
        self.blocks = self.points_of().shape[1] if axes == "all" else int(axes)
