import math

import torch
import torch.nn.functional as F

from encoding import Encoding, implements


def rotate(x, cos, sin, half):
    """Turns pairs (a, b) of x [..., 2P] to (a cos - b sin, a sin + b cos); cos and sin [..., P].
    Pairs are dimensions c and c + P where half, else 2c and 2c + 1."""
    if half:
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def turn_blocks(x, cos, sin, half, blocks=1):
    """Turns the first 2P dimensions of x [..., Dh], in blocks that are paired within themselves."""
    pairs = cos.shape[-1]
    first, rest = x[..., :2 * pairs], x[..., 2 * pairs:]
    if not half:
        blocks = 1  # neighbours stay neighbours across blocks
    parts = zip(first.chunk(blocks, -1), cos.chunk(blocks, -1), sin.chunk(blocks, -1))
    return torch.cat([rotate(*part, half) for part in parts] + [rest], -1)


@implements("rope", "rope-pi", "rope-ntk", "rope-yarn", "rope-llama3", "rope-longrope", "hope", "xpos")
class Rotary(Encoding):
    """q and k are turned by angles of their places.

    cos and sin [N, P]: of each place and pair of dimensions, times a factor where the scheme has one;
    key_cos and key_sin are those of keys where they differ.
    """

    def __init__(self, config, part):
        super().__init__(config, part)
        self.halves = self.options.get("rope-layout") == "half"
        self.blocks = 1

    def row_of_tokens(self):
        """Returns the tables' row for each token."""
        return self.place

    def qkv(self, a):
        rows = self.row_of_tokens()
        key_cos, key_sin = getattr(self, "key_cos", self.cos), getattr(self, "key_sin", self.sin)
        q = turn_blocks(a.q, self.cos[rows], self.sin[rows], self.halves, self.blocks)
        k = turn_blocks(a.k, key_cos[rows], key_sin[rows], self.halves, self.blocks)
        return q, k, a.v


@implements("golden-gate")
class GoldenGate(Encoding):
    """q and k are turned by angles of their places that each head has for itself: cos and sin
    [H, N, Dh/2]."""

    def qkv(self, a):
        halves = self.options["rope-layout"] == "half"
        cos, sin = self.cos[:, self.place], self.sin[:, self.place]
        return rotate(a.q, cos, sin, halves), rotate(a.k, cos, sin, halves), a.v


class TurnedByLayer(Encoding):
    """q and k are turned by trained angles of each layer, which angles(layer) returns: [H, N, Dh/2]."""

    halves = True

    def qkv(self, a):
        angles = self.angles(a.layer)
        cos, sin = angles.cos(), angles.sin()
        return rotate(a.q, cos, sin, self.halves), rotate(a.k, cos, sin, self.halves), a.v


class Axial(Rotary):
    """cos and sin [N, P]: the first half of the pairs are turned by one coordinate, the rest by the
    other."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.blocks = 2


class Mixed(TurnedByLayer):
    """frequencies [L, 2, H, Dh/2] times places [N, 2] are the angles."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.halves = self.options["rope-layout"] == "half"

    def angles(self, layer):
        at = self.places[self.place]
        return at @ self.frequencies[layer].permute(1, 0, 2)


@implements("rope-2d")
def rope_2d(config, part):
    return (Mixed if part["options"]["rope-2d"] == "mixed" else Axial)(config, part)


@implements("mrope")
class MRoPE(Rotary):
    """cos and sin [N, P]: each pair is turned by one coordinate; the dimensions left over stay."""


@implements("rope-3d")
class Rotary3D(Rotary):
    """cos and sin [N, P]: a block of pairs for each coordinate; the dimensions left over stay."""

    def __init__(self, config, part):
        super().__init__(config, part)
        axes = self.options["rope-axes"]
        self.blocks = self.points_of().shape[1] if axes == "all" else int(axes)


@implements("rope-dinov3")
class DINOv3(Rotary):
    """cos and sin [N, Dh/2]. With bounds [5], in training the coordinates places [N, 2] become
    (places + shift) jitter rescale, drawn for each pass: shift and ln jitter of each axis, ln rescale
    uniform in +- bounds; angles are those times frequency [Dh/4]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.halves = self.options["dinov3-layout"] == "half"

    def begin(self, samples, drawn):
        self.drawn = None
        if self.training and hasattr(self, "bounds"):
            self.drawn = (2 * torch.rand_like(self.bounds) - 1) * self.bounds

    def qkv(self, a):
        if self.drawn is None:
            return super().qkv(a)
        at = (self.places[self.place] + self.drawn[:2]) * (self.drawn[2:4] + self.drawn[4]).exp()
        angles = (at[..., None] * self.frequency).flatten(-2)
        cos, sin = angles.cos(), angles.sin()
        return rotate(a.q, cos, sin, self.halves), rotate(a.k, cos, sin, self.halves), a.v


def skew_matrices(numbers, g):
    """Returns the skew matrices [..., g, g] whose upper triangles are numbers [..., g(g-1)/2]."""
    upper = numbers.new_zeros(*numbers.shape[:-1], g, g)
    row, column = torch.triu_indices(g, g, 1)
    upper[..., row, column] = numbers
    return upper - upper.transpose(-1, -2)


def turn_by_matrices(x, turns):
    """Turns the first blocks of x [B, H, N, Dh] by turns [H or 1, N, blocks, g, g]."""
    blocks, g = turns.shape[-3], turns.shape[-1]
    first = x[..., :blocks * g].unflatten(-1, (blocks, g, 1))
    return torch.cat(((turns @ first).flatten(-3), x[..., blocks * g:]), -1)


@implements("liere")
class LieRE(Encoding):
    """Blocks of g dimensions of q and k are turned by exp(sum over a of x_a A_a), A_a skew: skew
    [M, H or 1, blocks, g(g-1)/2], rows of the upper triangle, for coordinates places [N, M]."""

    def turns(self):
        """Returns the matrices [H or 1, N, blocks, g, g]."""
        numbers = torch.einsum("nm,mhbt->hnbt", self.places[self.place], self.skew)
        g = min(int(self.options["liere-block"]), self.head_width)
        return torch.matrix_exp(skew_matrices(numbers, g))

    def qkv(self, a):
        turns = self.turns()
        return turn_by_matrices(a.q, turns), turn_by_matrices(a.k, turns), a.v


@implements("comrope")
class ComRoPE(Encoding):
    """Blocks of g dimensions of q and k are turned by exp(s A) of their one skew matrix A, skew
    [L, H, blocks, g(g-1)/2], for coordinates places [N, M]: s = factors [L, M, blocks] times them, or the
    one coordinate of the block, axes [1, M, blocks]."""

    def qkv(self, a):
        weights = self.factors[a.layer] if hasattr(self, "factors") else self.axes[0]
        g = min(int(self.options["comrope-block"]), self.head_width)
        s = self.places[self.place] @ weights  # [N, blocks]
        turns = torch.matrix_exp(s[..., None, None] * skew_matrices(self.skew[a.layer], g)[:, None])
        return turn_by_matrices(a.q, turns), turn_by_matrices(a.k, turns), a.v


@implements("string")
class Circulant(Encoding):
    """q and k are turned by exp(sum over a of r_a (C_a - C_a^T)), C_a circulant of c [L, H, A, Dh], at
    coordinates r [N, A]: in the basis of cosines, then sines, then vectors that stay [Dh, Dh]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        d = self.head_width
        pairs = (d - 1) // 2
        turns = 2 * math.pi * torch.outer(torch.arange(1, pairs + 1), torch.arange(d)).double() / d
        still = [torch.ones(d, dtype=torch.float64) / math.sqrt(d)]
        if d % 2 == 0:
            still.append(still[0] * (-1) ** torch.arange(d))
        waves = math.sqrt(2 / d) * torch.cat((turns.cos(), turns.sin()))
        self.constant("basis", torch.cat((waves, torch.stack(still))))
        self.constant("sines", 2 * turns.sin().T)  # [Dh, pairs]
        self.constant("at", self.points_of())

    def qkv(self, a):
        angles = self.at @ (self.c[a.layer] @ self.sines)  # [H, N, pairs]
        cos, sin, pairs = angles.cos(), angles.sin(), angles.shape[-1]

        def turned(x):
            x = x @ self.basis.T
            even, odd = x[..., :pairs], x[..., pairs:2 * pairs]
            return torch.cat((even * cos - odd * sin, even * sin + odd * cos, x[..., 2 * pairs:]),
                             -1) @ self.basis

        return turned(a.q), turned(a.k), a.v


@implements("fope")
class FoPE(Encoding):
    """q and k are turned by sums of waves: cos and sin [N, m] times coefficients [H or 1, m, o] (those of
    sines sine_coefficients where they differ); the pairs beyond o have a cosine of 1 and a sine of 0, or
    1 with fope-rest turned."""

    def qkv(self, a):
        rest = self.head_width // 2 - self.coefficients.shape[-1]
        of_sines = getattr(self, "sine_coefficients", self.coefficients)
        still = 1 if self.options["fope-rest"] == "turned" else 0
        cos = F.pad(self.cos[self.place] @ self.coefficients, (0, rest), value=1)
        sin = F.pad(self.sin[self.place] @ of_sines, (0, rest), value=still)
        return rotate(a.q, cos, sin, True), rotate(a.k, cos, sin, True), a.v


@implements("pope")
class PoPE(Encoding):
    """Logits of complex numbers of length softplus(q) and softplus(k) and angles of their places: cos and
    sin [N, R], the angle of k plus phase [H, R], kept in [-2 pi, 0]. Dimensions beyond R are as usual."""

    def logits(self, a, logits):
        phase = self.phase.clamp(-2 * math.pi, 0)[:, None]  # [H, 1, R]
        cos, sin = self.cos[self.place], self.sin[self.place]
        key_cos = cos * phase.cos() - sin * phase.sin()
        key_sin = sin * phase.cos() + cos * phase.sin()

        def polar(x, cos, sin):
            r = cos.shape[-1]
            length = F.softplus(x[..., :r])
            return torch.cat((length * cos, length * sin, x[..., r:]), -1)

        return polar(a.q, cos, sin) @ polar(a.k, key_cos, key_sin).transpose(-1, -2) * a.scale


@implements("grape-m")
class GrapeM(Encoding):
    """q and k are turned: by -p theta (commuting), by -theta times the sum over places s < p of
    omega_s = sigmoid((W x_s + b)/c) (contextual), or by exp(p w (a b^T - b a^T)) (rank-2).

    log_frequencies [L, H or 1, Dh/2] are c log theta (commuting) or log theta; omega_weight [L, G, D],
    omega_bias [L, G]; a and b [L, H, Dh]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.kind, *self.words = self.options["grape-m"].split(":")
        self.scale = float(self.options["grape-scale"])
        self.constant("p", self.place.double() + float(self.options["positions-from"]))
        self.constant("before", (self.apart() > 0).double())

    def qkv(self, a):
        if self.kind == "rank-2":
            return self.in_plane(a.q, a.layer), self.in_plane(a.k, a.layer), a.v
        logs = self.log_frequencies[a.layer][:, None]  # [H or 1, 1, Dh/2]
        if self.kind == "commuting":
            angles = self.p[:, None] * (logs / self.scale).exp()
        else:
            omega = F.linear(a.x, self.omega_weight[a.layer], self.omega_bias[a.layer])
            phase = (self.before @ (omega / self.scale).sigmoid()).transpose(1, 2)  # [B, G, N]
            angles = phase[..., None] * logs.exp()
        cos, sin = angles.cos(), -angles.sin()
        return rotate(a.q, cos, sin, True), rotate(a.k, cos, sin, True), a.v

    def in_plane(self, x, layer):
        a, b = self.a[layer][:, None], self.b[layer][:, None]  # [H, 1, Dh]

        def dot(x, y):
            return (x * y).sum(-1, keepdim=True)

        def generator(x):
            return a * dot(b, x) - b * dot(a, x)

        speed = (dot(a, a) * dot(b, b) - dot(a, b).square()).sqrt()
        w = float(self.words[0]) if self.words else 1
        angles = w * self.p[:, None] * speed
        once = generator(x)
        return x + angles.sin() / speed * once + (1 - angles.cos()) / speed.square() * generator(once)


@implements("bipe")
class BiPE(Rotary):
    """table [1, places, D] at the place in a segment, a row of the grid, is added to the first input; q
    and k are turned by the segment's number, cos and sin [segments, Dh/2]; or -96 slopes (s_i - s_j) is
    added to the logits."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.halves, self.dropout = True, config["pe_dropout"]
        cells = torch.tensor(self.grid)
        most = int(self.options["bipe-places"]) or len(self.grid)
        self.constant("segment", cells[:, 0])
        self.constant("spot", cells[:, 1].clamp(max=most - 1))
        apart = (self.segment[:, None] - self.segment).double()
        self.constant("segments", apart if self.options["bipe-direction"] == "causal" else apart.abs())

    def row_of_tokens(self):
        return self.segment

    def embed(self, layer, x):
        if layer > 0:
            return x
        return x + F.dropout(self.table[0][self.spot], self.dropout, self.training)

    def qkv(self, a):
        return super().qkv(a) if hasattr(self, "cos") else (a.q, a.k, a.v)

    def logits(self, a, logits):
        if hasattr(self, "cos"):
            return logits
        return logits - 96 * self.slopes[:, None, None] * self.segments
