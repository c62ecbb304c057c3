import torch.nn.functional as F

from encoding import implements
from table import Table


@implements("1d-fixed", "2d-fixed", "3d-fixed")
class Fixed(Table):
    """fixed [1, N, D]: sinusoids, a row for each place (1d-fixed) or token.

    They are added to the input of every layer or of the first. fixed-pe-dropout acts on the sum, in
    evaluation too, as in the published code of the paper: model.pe.always = 0 switches it off.
    """

    def __init__(self, config, part):
        super().__init__(config, part)
        self.repeat = self.options.get("pe-placement") != "input"
        self.always = float(self.options.get("fixed-pe-dropout", 0))
        self.by_place = part["scheme"] == "1d-fixed"

    def added(self, layer):
        if layer > 0 and not self.repeat:
            return None
        return self.fixed[0][self.place] if self.by_place else self.fixed[0]

    def embed(self, layer, x):
        rows = self.added(layer)
        return x if rows is None else F.dropout(x + rows, self.always)
