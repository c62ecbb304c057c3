from bias import Bias
from buckets import bucket
from encoding import implements


@implements("t5")
class T5(Bias):
    """table [1, buckets, H], a number for each bucket of offsets j - i, of all layers."""

    def __init__(self, config, part):
        super().__init__(config, part)
        o = self.options
        self.constant("row", bucket(-self.apart(), int(o["t5-buckets"]), int(o["t5-max-distance"]),
                                    o["t5-direction"] == "bidirectional"))

    def added_bias(self, layer):
        return self.table[0][self.row].permute(2, 0, 1)
