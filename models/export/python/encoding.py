import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


ENCODINGS = {}  # class by name of the scheme


def implements(*schemes):
    """Names the schemes that a class implements."""
    def register(cls):
        ENCODINGS.update({name: cls for name in schemes})
        return cls
    return register


class Attn:
    """The attention of one layer, as an encoding sees it."""

    def __init__(self, layer, x, scale, project):
        self.layer = layer  # from 0
        self.x = x  # [B, N, D], of which q, k and v are projections
        self.scale = scale  # the logits are scale q k^T
        self.project = project  # maps [B, M, D] to q, k, v of [B, H, M, Dh]
        self.q, self.k, self.v = project(x)  # [B, H, N, Dh]

    def within(self, layer):
        """Returns the attention as an encoding sees it that calls this layer by another number."""
        other = copy.copy(self)
        other.layer = layer
        return other


def mask_of(index, attention):
    """Returns what attention adds to logits [N, N]: -inf where a query does not see a key; None where each
    sees all. index has the tokens' places."""
    place = torch.tensor(index)
    offset = place[None, :] - place[:, None]
    hidden = torch.zeros_like(offset, dtype=torch.bool)
    if attention["causal"]:  # a token sees those whose place is not after its own
        hidden |= offset > 0
    if attention["window"]:  # and is nearer than this
        hidden |= offset.abs() >= attention["window"]
    if not hidden.any():
        return None
    return torch.zeros(offset.shape).masked_fill(hidden, float("-inf"))


class Encoding(nn.Module):
    """A positional encoding, of all layers. Its hooks change what a layer computes; these do not.

    Trained numbers are parameters and fixed tables are buffers, with names and shapes of the configuration.
    place [N] is each token's place on the line, 0 to N-1. Where tokens have them, grid [N] are their
    cells (row, column), and located [N] their points, the slowest axis first.
    """

    def __init__(self, config, part):
        super().__init__()
        self.options = part["options"]
        self.layers, self.heads, self.d_model = config["layers"], config["heads"], config["d_model"]
        self.head_width = self.d_model // self.heads
        for name, shape in part["parameters"].items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))
        for name, shape in part["buffers"].items():
            self.register_buffer(name, torch.zeros(shape))
        at = config["positions"]
        self.grid, self.located = at.get("cells"), at.get("points")
        self.constant("place", torch.tensor(at["index"]))

    def constant(self, name, value):
        """Keeps a tensor that moves with the model and is not saved."""
        self.register_buffer(name, value, persistent=False)

    def points_of(self, dims=0):
        """Returns float64 [N, dims]: points; or cells, in three dimensions as one frame; or, in one,
        the place on the line. dims 0 takes as many as there are."""
        if self.located is not None:
            at = self.located
        elif self.grid is not None and dims != 1:
            at = [[0] * (dims - 2) + cell for cell in self.grid]
        else:
            at = [[place] for place in self.place.tolist()]
        return torch.tensor(at, dtype=torch.float64)

    def apart(self):
        """Returns int64 [N, N]: the query's place less the key's."""
        return self.place[:, None] - self.place[None, :]

    def begin(self, samples, drawn):
        """Opens a forward pass of so many samples; drawn [B, N] are positions drawn for it, or None."""

    def embed(self, layer, x):
        """Changes the input x [B, N, D] of a layer."""
        return x

    def qkv(self, a):
        """Changes queries, keys and values [B, H, N, Dh]."""
        return a.q, a.k, a.v

    def logits(self, a, logits):
        """Changes the scaled logits [B, H, N, N] before the softmax."""
        return logits

    def output(self, a, weights, out):
        """Changes out [B, H, N, Dh], the product of weights [B, H, N, N] and values."""
        return out


@implements("nope", "c-nope")
class NoPE(Encoding):
    """No encoding. With a causal mask (attention.causal of config.json) places can be inferred."""


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


class Bias(Encoding):
    """added_bias(layer) [H, N, N] is added to the logits."""

    def added_bias(self, layer):
        raise NotImplementedError

    def logits(self, a, logits):
        return logits + self.added_bias(a.layer)


def of_layer(tables, layer):
    """Returns the table of a layer, of tables [T, ...]: with T = 1 all layers share it."""
    return tables[min(layer, len(tables) - 1)]


def gather_pairs(x, index):
    """Picks numbers of the last axis of x [B, H, N, R] by index [N, N]: [B, H, N, N]."""
    return x.gather(-1, index.expand(*x.shape[:-1], index.shape[-1]))


def bucket(offset, number, most, both):
    """Returns the bucket of offsets j - i: one each up to a distance, then logarithmic ranges up to
    most. both: half of the buckets are for keys after the query. Logarithms are rounded to float32, as
    in every public code: some offsets lie just on the border of two buckets."""
    half = number // 2 if both else number
    exact = half // 2
    first = half * (offset > 0) if both else 0
    distance = offset.abs() if both else (-offset).clamp(min=0)
    log = (distance.clamp(min=1).float() / exact).double().log().float()
    part = log / torch.tensor(math.log(most / exact)) * (half - exact)
    return first + torch.where(distance < exact, distance, (exact + part.long()).clamp(max=half - 1))
