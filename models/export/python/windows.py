import math

import torch
import torch.nn.functional as F

from bias import Bias, of_layer
from encoding import implements


def offset_rows(cells):
    """Returns [n, n] the number of the offset in rows and columns from key to query of cells [n, 2],
    counted row after row, and how many there are."""
    rows, columns = (cells.max(0)[0] + 1).tolist()
    apart = cells[:, None] - cells[None]
    at = (apart[..., 0] + rows - 1) * (2 * columns - 1) + apart[..., 1] + columns - 1
    return at, (2 * rows - 1) * (2 * columns - 1)


@implements("swin")
class Swin(Bias):
    """table [L, (2R-1)(2C-1), H], a number for each offset in rows and columns."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("row", offset_rows(torch.tensor(self.grid))[0])

    def added_bias(self, layer):
        return self.table[layer][self.row].permute(2, 0, 1)


@implements("beit")
class BEiT(Bias):
    """table [T, (2R-1)(2C-1), H] as in swin, of all layers or of each; with a class token at the first
    place three rows more: class to patch, patch to class, class to itself."""

    def __init__(self, config, part):
        super().__init__(config, part)
        cells = torch.tensor(self.grid)
        patches = self.place >= 0
        if self.options["beit-class-token"] == "first":
            patches = self.place != 0
        between, count = offset_rows(cells[patches])
        row = torch.full((len(cells), len(cells)), count + 2)
        row[patches] = count + 1  # to the class
        row[:, patches] = count  # from the class
        row[patches.nonzero(), patches.nonzero().T] = between
        self.constant("row", row)

    def added_bias(self, layer):
        return of_layer(self.table, layer)[self.row].permute(2, 0, 1)


@implements("swin-v2")
class SwinV2(Bias):
    """Logits are exp(min(tau, ln 100)) cos(q, k), tau [L, H], + 16 sigmoid(W_2 ReLU(W_1 c + b_1)) of
    coordinates c [(2R-1)(2C-1), 2]: in_weight [L, width, 2], in_bias, out_weight [L, H, width]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("row", offset_rows(torch.tensor(self.grid))[0])

    def qkv(self, a):
        scale = self.tau[a.layer].clamp(max=math.log(100)).exp()[:, None, None] / a.scale
        return F.normalize(a.q, dim=-1) * scale, F.normalize(a.k, dim=-1), a.v

    def added_bias(self, layer):
        hidden = F.linear(self.coordinates, self.in_weight[layer], self.in_bias[layer]).relu()
        numbers = 16 * F.linear(hidden, self.out_weight[layer]).sigmoid()
        return numbers[self.row].permute(2, 0, 1)
