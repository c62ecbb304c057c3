import torch

from encoding import implements
from table import Table


@implements("abacus")
class Abacus(Table):
    """table [T, rows, D] at a token's place in its run of digits: its one coordinate, else the place in
    its row of the grid from 1 on, else that on the line from 1 on. In training those above 0 are moved by an
    offset, drawn for each pass."""

    def __init__(self, config, part):
        super().__init__(config, part)
        if self.located is not None:
            run = torch.tensor(self.located)[:, 0].long()
        elif self.grid is not None:
            run = torch.tensor(self.grid)[:, 1] + 1
        else:
            run = self.place + 1
        self.constant("run", run)
        self.offsets = int(self.options["abacus-offset"]) + 1

    def begin(self, samples, drawn):
        self.rows = self.run
        if self.training and self.offsets > 1:
            self.rows = self.run + (self.run > 0) * torch.randint(self.offsets, (), device=self.run.device)

    def added(self, layer):
        return self.table[layer][self.rows] if layer < len(self.table) else None
