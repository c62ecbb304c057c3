from torch import nn

from encoding import ENCODINGS, implements


@implements("+")
class Stack(nn.ModuleDict):
    """Several encodings, each in its own layers, which it counts from 0, and at its own places; those of a
    layer act in this order."""

    def __init__(self, config, parts):
        super().__init__({part["label"]: ENCODINGS[part["scheme"]](
            dict(config, layers=len(part["layers"])), part) for part in parts})
        self.layers = {part["label"]: part["layers"] for part in parts}

    def within(self, layer):
        """Yields the encodings of a layer, each with its own number of the layer."""
        for label, part in self.items():
            if layer in self.layers[label]:
                yield self.layers[label].index(layer), part

    def begin(self, samples, drawn):
        for part in self.values():
            part.begin(samples, drawn)

    def embed(self, layer, x):
        for at, part in self.within(layer):
            x = part.embed(at, x)
        return x

    def qkv(self, a):
        for at, part in self.within(a.layer):
            a.q, a.k, a.v = part.qkv(a.within(at))
        return a.q, a.k, a.v

    def logits(self, a, logits):
        for at, part in self.within(a.layer):
            logits = part.logits(a.within(at), logits)
        return logits

    def output(self, a, weights, out):
        for at, part in self.within(a.layer):
            out = part.output(a.within(at), weights, out)
        return out
