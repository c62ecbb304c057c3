import torch
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
