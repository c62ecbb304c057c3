import torch
import torch.nn.functional as F

from bias import Bias
from encoding import implements
from table import Table


@implements("laplacian", "rwse")
class GraphFeatures(Table):
    """C z + c at the first layer, weight C [D, k] and bias c: z are a node's entries of eigenvectors of
    the graph's Laplacian (vectors [N, k]) or a random walk's return probabilities (features [N, k])."""

    def added(self, layer):
        if layer > 0:
            return None
        z = self.vectors if hasattr(self, "vectors") else self.features
        return F.linear(z[self.place], self.weight, self.bias)


@implements("rrwp")
class RRWP(Bias):
    """pair_weight [L, H, K] times pairs [K, N, N] on the logits: probabilities that a random walk leads
    from i to j in 0 .. K - 1 steps. C z + c at the first layer of the return probabilities features
    [N, K], weight C [D, K] and bias c."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.dropout = config["pe_dropout"]

    def embed(self, layer, x):
        if layer > 0 or not hasattr(self, "features"):
            return x
        rows = F.linear(self.features[self.place], self.weight, self.bias)
        return x + F.dropout(rows, self.dropout, self.training)

    def added_bias(self, layer):
        pairs = self.pairs[:, self.place][:, :, self.place]
        return torch.einsum("hk,kij->hij", self.pair_weight[layer], pairs)
