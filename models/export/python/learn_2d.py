import torch

from encoding import implements
from table import Table


@implements("learn-2d")
class Learned2D(Table):
    """row [T, R, D] + column [T, C, D]; or [column | row], D/2 each; or table [T, R C, D], a row a cell."""

    def __init__(self, config, part):
        super().__init__(config, part)
        at = torch.tensor(self.grid)
        self.constant("r", at[:, 0])
        self.constant("c", at[:, 1])
        self.columns = at[:, 1].max().item() + 1

    def added(self, layer):
        if hasattr(self, "table"):
            at = self.r * self.columns + self.c
            return self.table[layer][at] if layer < len(self.table) else None
        if layer >= len(self.row):
            return None
        row, column = self.row[layer][self.r], self.column[layer][self.c]
        return torch.cat((column, row), -1) if self.options["grid-table"] == "concat" else row + column
