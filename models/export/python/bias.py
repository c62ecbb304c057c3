from encoding import Encoding


class Bias(Encoding):
    """added_bias(layer) [H, N, N] is added to the logits."""

    def added_bias(self, layer):
        raise NotImplementedError

    def logits(self, a, logits):
        return logits + self.added_bias(a.layer)


def of_layer(tables, layer):
    """Returns the table of a layer, of tables [T, ...]: with T = 1 all layers share it."""
    return tables[min(layer, len(tables) - 1)]
