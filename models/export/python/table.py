import torch.nn.functional as F

from encoding import Encoding


class Table(Encoding):
    """x <- x + P at the input of a layer; added says P."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.dropout = config["pe_dropout"]  # of the table's entries, in training

    def added(self, layer):
        """Returns P [N, D], or None where the layer adds nothing."""
        raise NotImplementedError

    def embed(self, layer, x):
        rows = self.added(layer)
        if rows is None:
            return x
        return x + F.dropout(rows, self.dropout, self.training)
