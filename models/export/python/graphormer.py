import torch

from encoding import Encoding, implements


def distances(weights):
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


def paths(weights):
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
        spans = distances(weights)
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
        between, n = paths(weights), len(weights)

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
