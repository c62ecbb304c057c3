import math

import torch
import torch.nn.functional as F

from encoding import Encoding, gather_pairs, implements, Table
from rotations import rotate


@implements("learn")
class Learned(Table):
    """table [T, N, D], a row for each place: T is 1 where P is added to the first layer's input, else
    each layer has its own, or all share one."""

    def added(self, layer):
        if self.options.get("pe-tables") == "shared" and self.options["pe-placement"] == "block":
            layer = 0
        return self.table[layer][self.place] if layer < len(self.table) else None


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


@implements("abacus")
class Abacus(Table):
    """table [T, rows, D] at a token's place in its run of digits: its one coordinate, else the place in
    its row of the grid from 1 on, else that on the line from 1 on. In training those above 0 are moved by an
    offset, drawn for each pass."""

    def __init__(self, config, part):
        super().__init__(config, part)
        if self.located is not None:
            run = torch.tensor(self.located)[:, 0].long()
        elif self.grid is not None:
            run = torch.tensor(self.grid)[:, 1] + 1
        else:
            run = self.place + 1
        self.constant("run", run)
        self.offsets = int(self.options["abacus-offset"]) + 1

    def begin(self, samples, drawn):
        self.rows = self.run
        if self.training and self.offsets > 1:
            self.rows = self.run + (self.run > 0) * torch.randint(self.offsets, (), device=self.run.device)

    def added(self, layer):
        return self.table[layer][self.rows] if layer < len(self.table) else None


@implements("axial")
class AxialTable(Table):
    """slow [T, ceil(N/F), d] at place div F and fast [T, F, d] at place mod F, side by side or added."""

    def added(self, layer):
        if layer >= len(self.fast):
            return None
        f, join = self.fast.shape[1], self.options["axial-join"]
        slow = self.slow[layer][torch.div(self.place, f, rounding_mode="floor")]
        fast = self.fast[layer][self.place % f]
        if join == "sum":
            return slow + fast
        return torch.cat((slow, fast) if join == "slow-first" else (fast, slow), -1)


@implements("space-time")
class SpaceTime(Table):
    """space [T, places, D] + time [T, frames, D]; frames and places in them are counted in ascending
    order."""

    def __init__(self, config, part):
        super().__init__(config, part)
        at = self.points_of(3)
        self.constant("frame", at[:, 0].unique(return_inverse=True)[1])
        self.constant("spot", at[:, 1:].unique(dim=0, return_inverse=True)[1])

    def added(self, layer):
        if layer >= len(self.space):
            return None
        return self.space[layer][self.spot] + self.time[layer][self.frame]


@implements("learn-resampled")
class Resampled(Table):
    """mix [1, N, rows] times table [T, rows, D]: a table of another size, interpolated."""

    def added(self, layer):
        return self.mix[0][self.place] @ self.table[layer] if layer < len(self.table) else None


@implements("1d-fixed", "2d-fixed", "3d-fixed", "tape")
class Fixed(Table):
    """fixed [1, N, D]: sinusoids, a row for each place (1d-fixed, tape) or token.

    They are added to the input of every layer or of the first. fixed-pe-dropout acts on the sum, in
    evaluation too, as in the published code of the paper: model.pe.always = 0 switches it off.
    """

    def __init__(self, config, part):
        super().__init__(config, part)
        self.repeat = self.options.get("pe-placement") != "input"
        self.always = float(self.options.get("fixed-pe-dropout", 0))
        self.by_place = part["scheme"] in ("1d-fixed", "tape")

    def added(self, layer):
        if layer > 0 and not self.repeat:
            return None
        return self.fixed[0][self.place] if self.by_place else self.fixed[0]

    def embed(self, layer, x):
        rows = self.added(layer)
        return x if rows is None else F.dropout(x + rows, self.always)


@implements("learn-waves")
class Waves(Table):
    """sin and cos of p w_k side by side, w_k = base^(-f_k/(D/2)); index f [T, D/2], rounded up."""

    def added(self, layer):
        if layer >= len(self.index):
            return None
        rate = -math.log(float(self.options["sinusoid-base"])) / (self.d_model / 2)
        angles = self.place[:, None] * (self.index[layer] * rate).exp()
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[:, :self.d_model]


@implements("learn-fourier")
class LearnedFourier(Table):
    """[cos(x W^T) | sin(x W^T)] / sqrt(F) of coordinates x through out(GELU(in)): waves W [F/2, M/G],
    in_weight [H', F], in_bias, out_weight [D/G, H'], out_bias, for G groups of coordinates."""

    def __init__(self, config, part):
        super().__init__(config, part)
        at = self.points_of()
        self.constant("x", at.reshape(-1, self.waves.shape[1]))  # [N G, M/G]

    def added(self, layer):
        if layer > 0:
            return None
        angles = self.x @ self.waves.T
        r = torch.cat((angles.cos(), angles.sin()), -1) / math.sqrt(2 * len(self.waves))
        y = F.linear(F.gelu(F.linear(r, self.in_weight, self.in_bias)), self.out_weight, self.out_bias)
        return y.reshape(len(self.place), -1)


@implements("fourier-features")
class FourierFeatures(Table):
    """C z + b, weight C [D, features] and bias b, for fixed features z of points [N, M]: sines and cosines
    of 2 pi times waves [m, M] (gaussian), of octaves [m] of each coordinate, or the points."""

    def added(self, layer):
        if layer > 0:
            return None
        z = self.points
        if hasattr(self, "waves"):
            angles = 2 * math.pi * z @ self.waves.T
            z = torch.cat((angles.sin(), angles.cos()), -1)
        elif hasattr(self, "octaves"):
            angles = z[..., None] * self.octaves  # [N, M, m]
            z = torch.stack((angles.sin(), angles.cos()), -1).flatten(1)
        return F.linear(z, self.weight, self.bias)


@implements("cape")
class CAPE(Encoding):
    """sqrt(D) x + sin(at frequencies + phases) at the first layer: frequencies [A, D], phases [D] for A
    coordinates. In training positions are shifted and scaled at random, anew for each sample."""

    def __init__(self, config, part):
        super().__init__(config, part)
        o = self.options
        self.limits = [float(o["cape-" + name]) for name in ("global", "local", "scaling")]
        self.content = math.sqrt(self.d_model) if o["cape-content"] == "true" else 1
        if o["cape"] == "1d":
            at = self.points_of(1)
            if o["cape-centred"] == "true":
                at = at - at.mean()
            steps = torch.ones(1, dtype=torch.float64)
        else:
            cells = torch.tensor(self.grid, dtype=torch.float64)
            steps = 2 / cells.max(0)[0].clamp(min=1)
            at = cells * steps - 1
        self.constant("at", at)
        self.constant("steps", steps)

    def uniform(self, *shape):
        return 2 * torch.rand(shape, dtype=self.at.dtype, device=self.at.device) - 1

    def embed(self, layer, x):
        if layer > 0:
            return x
        at = self.at
        if self.training:
            (n, axes), samples = at.shape, len(x)
            shift, local, scaling = self.limits
            at = at + shift * self.uniform(samples, 1, axes)
            at = at + local * self.steps * self.uniform(samples, n, axes)
            at = at * (math.log(scaling) * self.uniform(samples, 1, 1)).exp()
        return self.content * x + (at @ self.frequencies + self.phases).sin()


@implements("conv-pos")
class ConvPos(Encoding):
    """x + GELU(convolution of x over places) at the first layer: v [D, D/groups, taps], each tap divided
    by its length and multiplied by gain [taps]; bias [D]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("order", self.place.argsort())

    def embed(self, layer, x):
        if layer > 0:
            return x
        taps, groups = len(self.gain), self.d_model // self.v.shape[1]
        w = self.gain * self.v / self.v.square().sum((0, 1), keepdim=True).sqrt()
        line = x[:, self.order].transpose(1, 2)
        y = F.conv1d(line, w, self.bias, padding=taps // 2, groups=groups)
        return x + F.gelu(y[..., :x.shape[1]].transpose(1, 2)[:, self.place])


@implements("random")
class Random(Table):
    """frozen: x + table, table [T, N, D] drawn once from N(0, 1) and never trained.
    ruoss: places drawn for each sample, sorted and distinct, of 0 .. random-max - 1, in training and
    evaluation; in sinusoids, in trained rows [T, random-max, D], or in angles of rope. With
    transformer-xl and alibi tokens d apart are as if r_d apart, 0 = r_0 < r_1 < ... drawn."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.frozen = self.options["random"] == "frozen"
        self.base, self.most = self.options["random-base"], int(self.options["random-max"])
        self.repeat = self.options["pe-placement"] != "input"
        self.at = None
        width = self.head_width if self.base == "rope" else self.d_model
        steps = torch.arange((width + 1) // 2, dtype=torch.float64)
        self.constant("frequency", 10000 ** (-2 * steps / width))
        self.distances = not self.frozen and self.base in ("transformer-xl", "alibi")
        if self.distances:
            apart = self.apart()
            n = len(apart)
            self.constant("before", apart)  # how far the key is before the query
            self.constant("row", apart + n - 1)
            self.constant("offset", torch.arange(1 - n, n))

    def begin(self, samples, drawn):
        if self.frozen:
            return
        if drawn is None:
            n = len(self.place)
            first = 1 if self.distances else 0
            ascending = [torch.randperm(self.most - first)[:n - first].sort()[0] for _ in range(samples)]
            drawn = torch.stack([torch.cat((torch.arange(first), first + at)) for at in ascending])
        self.drawn = drawn.to(self.frequency)
        self.at = self.drawn[:, self.place]  # [B, N]

    def angles(self):
        return self.at[..., None] * self.frequency

    def added(self, layer):
        """Returns P [B, N, D]."""
        if self.frozen:
            return self.table[layer][self.place] if layer < len(self.table) else None
        if self.distances or self.base == "rope" or layer > 0 and not self.repeat:
            return None
        if self.base == "learn":
            return self.rows[min(layer, len(self.rows) - 1)][self.at.long()]
        angles = self.angles()
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[..., :self.d_model]

    def embed(self, layer, x):
        rows = self.added(layer)
        return x if rows is None else x + rows

    def qkv(self, a):
        if self.frozen or self.base != "rope":
            return a.q, a.k, a.v
        cos, sin = self.angles().cos()[:, None], self.angles().sin()[:, None]
        return rotate(a.q, cos, sin, False), rotate(a.k, cos, sin, False), a.v

    def logits(self, a, logits):
        if not self.distances:
            return logits
        if self.base == "alibi":
            distance = self.drawn[:, self.before.abs()] - 0.5 * (self.before > 0)  # [B, N, N]
            return logits - self.slopes[:, None, None] * distance[:, None]
        angles = (self.drawn[:, self.offset.abs()] * self.offset.sign())[..., None] * self.frequency
        table = torch.cat((angles.sin(), angles.cos()), -1)  # [B, 2N - 1, D]
        keys = (table @ self.keys[a.layer].T).unflatten(-1, (self.heads, self.head_width))
        by_distance = (a.q + self.v[:, None]) @ keys.permute(0, 2, 3, 1)
        content = (a.k * self.u[:, None]).sum(-1)[:, :, None]
        return logits + (gather_pairs(by_distance, self.row) + content) * a.scale


@implements("detr")
class DETR(Encoding):
    """q and k are projections of x + P, v of x: P is fixed [1, N, D], sinusoids, or [column | row], each
    [1, places, D/2]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        cells = torch.tensor(self.grid)
        self.constant("r", cells[:, 0])
        self.constant("c", cells[:, 1])

    def qkv(self, a):
        if hasattr(self, "fixed"):
            table = self.fixed
        else:
            table = torch.cat((self.column[:, self.c], self.row[:, self.r]), -1)
        zero = torch.zeros_like(table[:, :1])
        (q, k, _), (q0, k0, _) = a.project(table), a.project(zero)  # less the biases, which are there
        return a.q + q - q0, a.k + k - k0, a.v


@implements("floater")
class Floater(Encoding):
    """q, k and v of each layer get p(i dt), the path of dp/dt = W_2 [relu(W_1 [p; t] + b_1); t] + b_2 from
    start [3, L, D]: in_weight [D, D + 1], in_bias, out_weight [D, D + 1], out_bias. The solver makes 5
    steps of the 3/8 rule from place to place, or one of Euler."""

    def begin(self, samples, drawn):
        d, dt = self.d_model, float(self.options["floater-dt"])
        euler = self.options["floater-solver"] == "euler"
        inner, step = (1, dt) if euler else (5, dt / 5)
        w1, u1 = self.in_weight[:, :d], self.in_weight[:, d]
        w2, u2 = self.out_weight[:, :d], self.out_weight[:, d]

        def h(t, p):
            hidden = (p @ w1.T + (self.in_bias + t * u1)).relu()
            return hidden @ w2.T + (self.out_bias + t * u2)

        p, path = self.start, [self.start]
        for i in range((len(self.place) - 1) * inner):
            t = i * step
            k1 = h(t, p)
            if euler:
                p = p + step * k1
            else:
                k2 = h(t + step / 3, p + step * k1 / 3)
                k3 = h(t + step * 2 / 3, p + step * (k2 - k1 / 3))
                k4 = h(t + step, p + step * (k1 - k2 + k3))
                p = p + step * (k1 + 3 * (k2 + k3) + k4) / 8
            if (i + 1) % inner == 0:
                path.append(p)
        self.path = torch.stack(path)[self.place]  # [N, 3, L, D]

    def qkv(self, a):
        added = self.path[:, :, a.layer].unflatten(-1, (self.heads, self.head_width))
        q, k, v = added.permute(1, 2, 0, 3)
        return a.q + q, a.k + k, a.v + v
