import torch
import torch.nn.functional as F

from encoding import Bias, Encoding, implements, Table


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


def shortest_paths(weights):
    """Returns the number of edges on the shortest path between nodes [V][V], None where there is none."""
    near = [[to for to, w in enumerate(row) if w > 0] for row in weights]
    spans = []
    for start in range(len(weights)):
        d, queue = [None] * len(weights), [start]
        d[start] = 0
        for at in queue:
            for to in near[at]:
                if d[to] is None:
                    d[to] = d[at] + 1
                    queue.append(to)
        spans.append(d)
    return spans


def nodes_between(weights):
    """Returns the nodes on a shortest path from i to j [V][V], both included, by the algorithm of Floyd
    and Warshall; of several the one that it finds first; [] where there is none, or i is j."""
    n, far = len(weights), 1 << 30
    length = [[0 if i == j else 1 if weights[i][j] > 0 else far for j in range(n)] for i in range(n)]
    between = [[None] * n for _ in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if length[i][k] + length[k][j] < length[i][j]:
                    length[i][j], between[i][j] = length[i][k] + length[k][j], k

    def inner(i, j):
        k = between[i][j]
        return [] if k is None else inner(i, k) + [k] + inner(k, j)

    return [[[i] + inner(i, j) + [j] if i != j and length[i][j] < far else [] for j in range(n)]
            for i in range(n)]


@implements("graphormer")
class Graphormer(Encoding):
    """in_ and out [degrees, D] of a node's edges are added to the first input; distances [1, paths + 2, H]
    of the shortest path and edges on it, edges [1, kinds + 2, H] times hops [hops, H, H], to the logits;
    virtual [H] in their place for the virtual node, the one at the first place."""

    def __init__(self, config, part):
        super().__init__(config, part)
        weights = [list(row) for row in config["positions"]["graph"]]
        self.virtual_node = self.options["graphormer-virtual-node"] == "first"
        if self.virtual_node:
            weights = [[w if i and j else 0 for j, w in enumerate(row)] for i, row in enumerate(weights)]
        spans = shortest_paths(weights)
        longest = max(510 if d is None and not (self.virtual_node and 0 in (i, j)) else d or 0
                      for i, row in enumerate(spans) for j, d in enumerate(row))
        last, place = self.distances.shape[1] - 1, self.place
        rows = [[last if d is None else min(d, last - 1) for d in row] for row in spans]
        self.constant("row", torch.tensor(rows)[place][:, place])
        degrees = [[sum(w > 0 for w in to) for to in zip(*weights)],
                   [sum(w > 0 for w in row) for row in weights]]
        self.constant("degrees", torch.tensor(degrees)[:, place])
        self.constant("others", ((place[:, None] != 0) & (place != 0)).double())
        self.constant("nodes", (place != 0).double()[:, None])
        if hasattr(self, "edges"):
            self.constant("kinds", self.kinds_of(weights, longest)[:, place][:, :, place])
        if hasattr(self, "hops"):
            most = len(self.hops)
            share = [[1 / max(1, min(most if d is None else d, most)) for d in row] for row in spans]
            self.constant("share", torch.tensor(share, dtype=torch.float64)[place][:, place])

    def kinds_of(self, weights, longest):
        """Returns int64 [hops, V, V] the row of edges for each hop of the path: 0 beyond its end."""
        if not hasattr(self, "hops"):
            return torch.tensor([weights]).long() + 1
        between, n = nodes_between(weights), len(weights)

        def kind(path, hop):
            return int(weights[path[hop]][path[hop + 1]]) + 1 if hop + 1 < len(path) else 0

        return torch.tensor([[[kind(between[i][j], hop) for j in range(n)] for i in range(n)]
                             for hop in range(min(len(self.hops), max(longest, 1)))])

    def embed(self, layer, x):
        if layer > 0 or not hasattr(self, "in_"):
            return x
        into, out = (at.clamp(max=len(self.out) - 1) for at in self.degrees)
        added = self.in_[into] + self.out[out]
        return x + (added * self.nodes if self.virtual_node else added)

    def logits(self, a, logits):
        bias = self.distances[0][self.row]  # [N, N, H]
        if hasattr(self, "hops"):
            tables = self.edges @ self.hops[:len(self.kinds)]
            paths = sum(table[kinds] for table, kinds in zip(tables, self.kinds))
            bias = bias + paths * self.share[..., None]
        elif hasattr(self, "edges"):
            bias = bias + self.edges[0][self.kinds[0]]
        bias = bias.permute(2, 0, 1)
        if self.virtual_node:
            bias = bias * self.others + self.virtual[:, None, None] * (1 - self.others)
        return logits + bias


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
