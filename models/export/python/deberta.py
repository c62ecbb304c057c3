import math

import torch

from encoding import Encoding, implements
from pairs import gather_pairs


def log_bucket(offset, number, most):
    """Returns offsets up to half the number as they are, larger ones in logarithmic buckets."""
    middle = number // 2
    size = offset.abs().clamp(max=most - 1)
    log = (size.clamp(min=1).float() / middle).double().log().float()
    part = log / torch.tensor(math.log((most - 1) / middle)) * (middle - 1)
    far = (part.ceil().long() + middle) * offset.sign()
    return torch.where(offset.abs() <= middle, offset, far)


@implements("deberta")
class DeBERTa(Encoding):
    """q_i Kr_ij + k_j Qr_ij, or one of the two, is added to q_i k_j before the scale. Kr and Qr are maps
    of row clip(i - j + K, 0, 2K - 1) of table [2K, D]: by key_weight, key_bias, query_weight and
    query_bias of each layer, or by the layer's own projections."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.terms = self.options["deberta-terms"]
        span, _, most = self.options["deberta-offsets"].partition("/")
        offset, span = self.apart(), int(span)
        if most:
            offset = log_bucket(offset, span, int(most))
        row = (offset + span).clamp(0, 2 * span - 1)
        self.first, self.last = row.min().item(), row.max().item()
        self.constant("row", row - self.first)

    def split(self, y):
        """Splits [R, D] into heads [H, Dh, R]."""
        return y.unflatten(-1, (self.heads, self.head_width)).permute(1, 2, 0)

    def logits(self, a, logits):
        table = self.table[self.first:self.last + 1]
        if self.options["deberta-projections"] == "content":
            queries, keys, _ = (x[0].transpose(-1, -2) for x in a.project(table[None]))
        else:
            if self.terms != "p2c":
                keys = self.split(table @ self.key_weight[a.layer].T + self.key_bias[a.layer])
            if self.terms != "c2p":
                queries = self.split(table @ self.query_weight[a.layer].T + self.query_bias[a.layer])
        if self.terms != "p2c":
            logits = logits + gather_pairs(a.q @ keys, self.row) * a.scale
        if self.terms != "c2p":
            logits = logits + gather_pairs(a.k @ queries, self.row.T).transpose(-1, -2) * a.scale
        return logits
