import torch
import torch.nn.functional as F

from encoding import implements
from table import Table


@implements("signnet")
class SignNet(Table):
    """rho of phi(v) + phi(-v) for the eigenvectors v [K, N] (vectors) of the graph's Laplacian, summed
    (deepset) or side by side (mlp). phi: layers out(ReLU(in(sums y))), sums [N, N] = I + A."""

    def linear(self, name, x):
        return F.linear(x, getattr(self, name + "_weight"), getattr(self, name + "_bias"))

    def added(self, layer):
        if layer > 0:
            return None
        k, n = self.vectors.shape
        x = torch.cat((self.vectors, -self.vectors))[..., None]  # [2K, N, 1]
        for i in range(int(self.options["signnet-layers"])):
            x = self.linear("phi_%d_in" % i, self.sums @ x).relu()
            x = self.linear("phi_%d_out" % i, x)
        x = x[:k] + x[k:]
        x = x[:min(k, n)].sum(0) if self.options["signnet"] == "deepset" else x.transpose(0, 1).flatten(1)
        for i in range(int(self.options["signnet-post-layers"])):
            x = self.linear("rho_%d" % i, x.relu() if i > 0 else x)
        return x[self.place]
