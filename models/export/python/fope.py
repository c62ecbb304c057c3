import torch.nn.functional as F

from encoding import Encoding, implements
from rotary import rotate


@implements("fope")
class FoPE(Encoding):
    """q and k are turned by sums of waves: cos and sin [N, m] times coefficients [H or 1, m, o] (those of
    sines sine_coefficients where they differ); the pairs beyond o have a cosine of 1 and a sine of 0, or
    1 with fope-rest turned."""

    def qkv(self, a):
        rest = self.head_width // 2 - self.coefficients.shape[-1]
        of_sines = getattr(self, "sine_coefficients", self.coefficients)
        still = 1 if self.options["fope-rest"] == "turned" else 0
        cos = F.pad(self.cos[self.place] @ self.coefficients, (0, rest), value=1)
        sin = F.pad(self.sin[self.place] @ of_sines, (0, rest), value=still)
        return rotate(a.q, cos, sin, True), rotate(a.k, cos, sin, True), a.v
