import torch.nn.functional as F

from encoding import Encoding, implements


@implements("conv-pos")
class ConvPos(Encoding):
    """x + GELU(convolution of x over places) at the first layer: v [D, D/groups, taps], each tap divided
    by its length and multiplied by gain [taps]; bias [D]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("order", self.place.argsort())

    def embed(self, layer, x):
        if layer > 0:
            return x
        taps, groups = len(self.gain), self.d_model // self.v.shape[1]
        w = self.gain * self.v / self.v.square().sum((0, 1), keepdim=True).sqrt()
        line = x[:, self.order].transpose(1, 2)
        y = F.conv1d(line, w, self.bias, padding=taps // 2, groups=groups)
        return x + F.gelu(y[..., :x.shape[1]].transpose(1, 2)[:, self.place])
