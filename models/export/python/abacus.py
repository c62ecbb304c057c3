import torch

from encoding import implements
from table import Table


@implements("abacus")
class Abacus(Table):
    """table [T, rows, D] at a token's place in its run of digits: its one coordinate, else the place in
    its row of the grid from 1 on, else that on the line from 1 on."""

    def __init__(self, config, part):
        super().__init__(config, part)
        if self.located is not None:
            run = torch.tensor(self.located)[:, 0].long()
        elif self.grid is not None:
            run = torch.tensor(self.grid)[:, 1] + 1
        else:
            run = self.place + 1
        self.constant("run", run)

    def added(self, layer):
        return self.table[layer][self.run] if layer < len(self.table) else None
