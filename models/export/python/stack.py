from torch import nn

from encoding import ENCODINGS, implements


@implements("+")
class Stack(nn.ModuleDict):
    """Several encodings at once, each at its own places, in this order."""

    def __init__(self, config, parts):
        super().__init__({part["scheme"]: ENCODINGS[part["scheme"]](config, part) for part in parts})

    def begin(self, samples, drawn):
        for part in self.values():
            part.begin(samples, drawn)

    def embed(self, layer, x):
        for part in self.values():
            x = part.embed(layer, x)
        return x

    def qkv(self, a):
        for part in self.values():
            a.q, a.k, a.v = part.qkv(a)
        return a.q, a.k, a.v

    def logits(self, a, logits):
        for part in self.values():
            logits = part.logits(a, logits)
        return logits

    def output(self, a, weights, out):
        for part in self.values():
            out = part.output(a, weights, out)
        return out
