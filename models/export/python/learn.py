from encoding import implements
from table import Table


@implements("learn")
class Learned(Table):
    """table [T, N, D], a row for each place: T is 1 where P is added to the first layer's input, else
    each layer has its own."""

    def added(self, layer):
        return self.table[layer][self.place] if layer < len(self.table) else None
