import math

import torch
import torch.nn.functional as F

from bias import Bias
from buckets import bucket
from encoding import implements


@implements("tupe")
class TUPE(Bias):
    """(p_i U_Q)(p_j U_K) / sqrt(2 Dh) of all layers: table p [rows, D], query_weight and key_weight
    [D, D]; normed: a layer norm of p and biases. relative [1, buckets, H] for offsets j - i. With a class
    token at the first place, pairs with it have numbers made of two more rows of p."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.class_token = self.options["tupe-class-token"] == "first"
        number, _, most = self.options["tupe-buckets"].partition("/")
        place = self.place
        if most:
            row = bucket(-self.apart(), int(number), int(most), True)
            if self.class_token:
                row[:, place == 0] = int(number)
                row[place == 0] = int(number) // 2
            self.constant("row", row)
        rows = torch.cat((torch.tensor([0, 1]), place + 1)) if self.class_token else place
        self.constant("rows", rows)

    def added_bias(self, layer):
        p = self.table[self.rows]
        if hasattr(self, "norm_weight"):
            p = F.layer_norm(p, p.shape[-1:], self.norm_weight, self.norm_bias, 1e-5)
        q = F.linear(p, self.query_weight, getattr(self, "query_bias", None))
        k = F.linear(p, self.key_weight, getattr(self, "key_bias", None))
        q, k = (x.unflatten(-1, (self.heads, self.head_width)).transpose(0, 1) for x in (q, k))
        bias = q @ k.transpose(-1, -2) / math.sqrt(2 * self.head_width)
        if self.class_token:
            is_class = self.place == 0
            from_class, to_class, bias = bias[:, :1, :1], bias[:, 1:2, 1:2], bias[:, 2:, 2:]
            bias = torch.where(is_class, to_class, bias)
            bias = torch.where(is_class[:, None], from_class, bias)
        if hasattr(self, "relative"):
            bias = bias + self.relative[0][self.row].permute(2, 0, 1)
        return bias
