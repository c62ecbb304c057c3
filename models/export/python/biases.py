import math

import torch
import torch.nn.functional as F

from encoding import Bias, bucket, Encoding, gather_pairs, implements, of_layer


@implements("relative-bias")
class RelativeBias(Bias):
    """bias [L, H, 2N - 1], a number for each i - j, or [L, H, N N], one for each pair of places; times
    the scale of the logits with relative-bias-scaled."""

    def __init__(self, config, part):
        super().__init__(config, part)
        n = len(self.place)
        row = self.apart() + n - 1
        if self.options["relative-bias"] == "full":
            row = self.place[:, None] * n + self.place
        self.constant("row", row)

    def logits(self, a, logits):
        bias = self.bias[a.layer][:, self.row]
        return logits + (bias * a.scale if self.options["relative-bias-scaled"] == "true" else bias)


@implements("erpe")
class ERPE(Encoding):
    """table [L, 2N - 1, H], a number for each i - j, is added to the weights after the softmax."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("row", self.apart() + len(self.place) - 1)

    def output(self, a, weights, out):
        return out + self.table[a.layer][self.row].permute(2, 0, 1) @ a.v


@implements("tisa")
class TISA(Bias):
    """f(k) = sum over s of a_s exp(-|b_s| (k - c_s)^2), a, b and c [L, S, H], at k = j - i or i - j - 1."""

    def added_bias(self, layer):
        a, b, c = (x[layer].T[:, :, None, None] for x in (self.a, self.b, self.c))
        offset = -self.apart() if self.options["tisa-offset"] == "j-i" else self.apart() - 1
        return (a * (-b.abs() * (offset - c).square()).exp()).sum(1)


@implements("dynamic-bias")
class DynamicBias(Bias):
    """A network of the offset i - j or its logarithm, with SiLU, of all layers."""

    def __init__(self, config, part):
        super().__init__(config, part)
        offset = self.apart().double()
        if self.options["dynamic-bias-offsets"] == "log":
            offset = offset.sign() * offset.abs().log1p()
        self.constant("offset", offset[..., None])

    def added_bias(self, layer):
        x = self.offset
        for i in range(int(self.options["dynamic-bias-depth"])):
            x = F.silu(F.linear(x, getattr(self, "%d_weight" % i), getattr(self, "%d_bias" % i)))
        return F.linear(x, self.out_weight, self.out_bias).permute(2, 0, 1)


@implements("edge-geometry")
class EdgeGeometry(Bias):
    """weight [L, H, M + 1] times [p_j - p_i, |p_j - p_i|] of coordinates p [N, M]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        at = self.points_of()
        apart = at[None] - at[:, None]
        self.constant("edges", torch.cat((apart, apart.norm(dim=-1, keepdim=True)), -1))

    def added_bias(self, layer):
        return (self.edges @ self.weight[layer].T).permute(2, 0, 1)


@implements("alibi")
class ALiBi(Bias):
    """-slopes [H] times a distance: i - j (causal), |i - j| (symmetric), that less 1/2 for keys before
    the query (sided), or that of coordinates (euclidean); over sqrt(Dh) with alibi-scaled."""

    def __init__(self, config, part):
        super().__init__(config, part)
        apart, form = self.apart().double(), self.options["alibi"]
        if form == "causal":
            distance = apart.clamp(min=0)
        elif form == "euclidean":
            at = self.points_of()
            distance = (at[:, None] - at[None]).square().sum(-1).sqrt()
        else:
            distance = apart.abs()
            if form == "sided":
                distance = distance - 0.5 * (apart > 0)
        if self.options["alibi-scaled"] == "true":
            distance = distance / math.sqrt(self.head_width)
        self.constant("distance", distance)

    def added_bias(self, layer):
        return -self.slopes[:, None, None] * self.distance


@implements("sandwich")
class Sandwich(Bias):
    """weights [H] times the sum of cos((i - j) 10000^(-2m/d)) over m."""

    def __init__(self, config, part):
        super().__init__(config, part)
        width, first = int(self.options["sandwich-width"]), int(self.options["sandwich-first"])
        steps = torch.arange(first, first + width // 2, dtype=torch.float64)
        angles = self.apart()[..., None] * 10000 ** (-2 * steps / width)
        self.constant("curve", (angles.cos() - first).sum(-1))

    def added_bias(self, layer):
        return self.weights[:, None, None] * self.curve


def raised(x, high=None):
    """Raises trained numbers [H] to 0.01 at least, with the gradient of those that are not raised:
    [H, 1, 1]; 1 for None."""
    if x is None:
        return 1.0
    return (x + (x.clamp(0.01, high) - x).detach())[:, None, None]


def log_kernel(a, p, distance):
    """Returns -p log(1 + a d)."""
    return -raised(p) * torch.log1p(raised(a) * distance)


def power_kernel(a, p, distance):
    """Returns a d^p, 0 where d is 0."""
    powers = (raised(p, 2) * distance.clamp(min=1).log()).exp() * (distance > 0)
    return raised(a) * powers


@implements("kerple")
class KERPLE(Encoding):
    """logits - p log(1 + a d), or - a d^p, for distances d; a and p [H], of all layers, 1 where they are
    not trained. With kerple-weights the logits are first multiplied by exp(-a' d^p')."""

    def __init__(self, config, part):
        super().__init__(config, part)
        causal = self.options["kerple-direction"] == "causal"
        self.constant("distance", (self.apart().clamp(min=0) if causal else self.apart().abs()).double())

    def of(self, name):
        return getattr(self, name, None)

    def logits(self, a, logits):
        if self.options["kerple-weights"] != "none":
            logits = logits * (-power_kernel(
                self.of("weights_a"), self.of("weights_p"), self.distance)).exp()
        if self.options["kerple"] == "power":
            return logits - power_kernel(self.of("a"), self.of("p"), self.distance)
        return logits + log_kernel(self.of("a"), self.of("p"), self.distance)


def fire_bias(weights, place, distance, threshold, slope):
    """Returns MLP(psi(d) / psi(max(i, |m L_0|))) [H, N, N], psi(x) = ln(|c x| + 1), of weights c, m,
    in_weight [width, 1], in_bias, out_weight [H, width], out_bias; slope is that of ReLU below 0."""
    c, m, in_weight, in_bias, out_weight, out_bias = weights

    def psi(x):
        return torch.log1p((c * x).abs())

    whole = psi(torch.maximum((m * threshold).abs(), place)) + 1e-6
    x = (psi(distance) / whole[:, None])[..., None]
    hidden = F.leaky_relu(F.linear(x, in_weight, in_bias), slope)
    return F.linear(hidden, out_weight, out_bias).permute(2, 0, 1)


@implements("fire")
class FIRE(Bias):
    """A network of the distance as a part of the query's place, of each layer or of all: c and
    multiplier [T], in_weight [T, width, 1], in_bias, out_weight [T, H, width], out_bias."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.threshold = float(self.options["fire-threshold"])
        self.constant("distance", self.apart().double())
        self.constant("query", self.place.double())

    def added_bias(self, layer):
        weights = (self.c, self.multiplier, self.in_weight, self.in_bias, self.out_weight, self.out_bias)
        return fire_bias([of_layer(w, layer) for w in weights], self.query, self.distance,
                         self.threshold, 0)


@implements("t5")
class T5(Bias):
    """table [1, buckets, H], a number for each bucket of offsets j - i, of all layers."""

    def __init__(self, config, part):
        super().__init__(config, part)
        o = self.options
        self.constant("row", bucket(-self.apart(), int(o["t5-buckets"]), int(o["t5-max-distance"]),
                                    o["t5-direction"] == "bidirectional"))

    def added_bias(self, layer):
        return self.table[0][self.row].permute(2, 0, 1)


def offset_rows(cells):
    """Returns [n, n] the number of the offset in rows and columns from key to query of cells [n, 2],
    counted row after row, and how many there are."""
    rows, columns = (cells.max(0)[0] + 1).tolist()
    apart = cells[:, None] - cells[None]
    at = (apart[..., 0] + rows - 1) * (2 * columns - 1) + apart[..., 1] + columns - 1
    return at, (2 * rows - 1) * (2 * columns - 1)


@implements("swin")
class Swin(Bias):
    """table [L, (2R-1)(2C-1), H], a number for each offset in rows and columns."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("row", offset_rows(torch.tensor(self.grid))[0])

    def added_bias(self, layer):
        return self.table[layer][self.row].permute(2, 0, 1)


@implements("beit")
class BEiT(Bias):
    """table [T, (2R-1)(2C-1), H] as in swin, of all layers or of each; with a class token at the first
    place three rows more: class to patch, patch to class, class to itself."""

    def __init__(self, config, part):
        super().__init__(config, part)
        cells = torch.tensor(self.grid)
        patches = self.place >= 0
        if self.options["beit-class-token"] == "first":
            patches = self.place != 0
        between, count = offset_rows(cells[patches])
        row = torch.full((len(cells), len(cells)), count + 2)
        row[patches] = count + 1  # to the class
        row[:, patches] = count  # from the class
        row[patches.nonzero(), patches.nonzero().T] = between
        self.constant("row", row)

    def added_bias(self, layer):
        return of_layer(self.table, layer)[self.row].permute(2, 0, 1)


@implements("swin-v2")
class SwinV2(Bias):
    """Logits are exp(min(tau, ln 100)) cos(q, k), tau [L, H], + 16 sigmoid(W_2 ReLU(W_1 c + b_1)) of
    coordinates c [(2R-1)(2C-1), 2]: in_weight [L, width, 2], in_bias, out_weight [L, H, width]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("row", offset_rows(torch.tensor(self.grid))[0])

    def qkv(self, a):
        scale = self.tau[a.layer].clamp(max=math.log(100)).exp()[:, None, None] / a.scale
        return F.normalize(a.q, dim=-1) * scale, F.normalize(a.k, dim=-1), a.v

    def added_bias(self, layer):
        hidden = F.linear(self.coordinates, self.in_weight[layer], self.in_bias[layer]).relu()
        numbers = 16 * F.linear(hidden, self.out_weight[layer]).sigmoid()
        return numbers[self.row].permute(2, 0, 1)


@implements("huang")
class Huang(Encoding):
    """Four ways of offsets j - i, clipped to +-k, with table [L, rows, 1 or Dh]: 1 and 2 multiply the
    logits by a number (1 by |j - i|), 3 weighs q_id k_jd, 4 adds q_i a_ij + k_j a_ij before the scale."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.method, clip = self.options["huang-method"], int(self.options["huang-clip"])
        if self.method == "1":
            row = self.apart().abs().clamp(max=clip)
        else:
            row = (-self.apart()).clamp(-clip, clip) + clip
        self.constant("row", row)

    def logits(self, a, logits):
        table = self.table[a.layer]
        if self.method == "3":
            return logits + (a.q[:, :, :, None] * (table[self.row] - 1) * a.k[:, :, None]).sum(-1) * a.scale
        if self.method == "4":
            by_query = gather_pairs(a.q @ table.T, self.row)
            by_key = gather_pairs(a.k @ table.T, self.row.T).transpose(-1, -2)
            return logits + (by_query + by_key) * a.scale
        return logits * table[self.row, 0]


@implements("relative")
class Relative(Encoding):
    """q_i r_ij is added to q_i k_j, before the scale. keys [L, R, Dh], shared by heads.

    shaw: r_ij is row clip(j - i) + k of 2k + 1; with values [L, R, Dh] its like is added to v_j too.
    skew: r_ij is row N - 1 - (i - j), under a causal mask and without an output projection.
    """

    def __init__(self, config, part):
        super().__init__(config, part)
        if self.options["relative"] == "skew":
            last = self.keys.shape[1] - 1
            row = (last - self.apart()).clamp(max=last)  # keys after the query are masked
        else:
            clip = int(self.options["relative-clip"])
            row = (-self.apart()).clamp(-clip, clip) + clip
        self.constant("row", row)

    def logits(self, a, logits):
        return logits + gather_pairs(a.q @ self.keys[a.layer].T, self.row) * a.scale

    def output(self, a, weights, out):
        if not hasattr(self, "values"):
            return out
        rows = F.embedding(self.row, self.values[a.layer])  # [N, N, Dh]
        return out + (weights.unsqueeze(-2) @ rows).squeeze(-2)


@implements("tener")
class TENER(Encoding):
    """q_i P_(i-j) + u k_j + v P_(i-j) is added to q_i k_j before the scale: sinusoids P [2N - 1, Dh] of
    offsets from -(N - 1) on, u and v [L, H, Dh]; with tener-key-term k_j P_(i-j) too."""

    def __init__(self, config, part):
        super().__init__(config, part)
        row = self.apart() + len(self.place) - 1
        self.constant("key_row", row)
        self.constant("row", row.T if self.options["tener-offset"] == "j-i" else row)

    def logits(self, a, logits):
        u, v = self.u[a.layer][:, None], self.v[a.layer][:, None]
        added = gather_pairs((a.q + v) @ self.sinusoids.T, self.row) + (a.k * u).sum(-1)[:, :, None]
        if self.options["tener-key-term"] == "true":
            by_key = gather_pairs(a.k @ self.sinusoids.T, self.key_row.T)
            added = added + by_key.transpose(-1, -2)
        return logits + added * a.scale


@implements("transformer-xl")
class TransformerXL(Encoding):
    """u k_j + (q_i + v) W_R R_(i-j) is added to q_i k_j, before the scale: u and v [H, Dh], keys W_R
    [L, D, D], table R [distances, D]. With free keys: u k_j + q_i r_(i-j) + b_(i-j), vectors r
    [L, distances, H, Dh] and terms b [L, distances, H]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        direction, apart = self.options["xl-direction"], self.apart()
        if direction == "causal":
            row = apart.clamp(min=0)  # keys after the query are masked
        else:
            row = (-apart if direction == "mirrored" else apart) + len(apart) - 1
        self.constant("row", row)

    def logits(self, a, logits):
        if hasattr(self, "keys"):
            keys = (self.table @ self.keys[a.layer].T).unflatten(-1, (self.heads, self.head_width))
            by_distance = (a.q + self.v[:, None]) @ keys.permute(1, 2, 0)
        else:
            by_distance = a.q @ self.vectors[a.layer].permute(1, 2, 0)
            by_distance = by_distance + self.terms[a.layer].T[:, None]
        content = (a.k * self.u[:, None]).sum(-1)[:, :, None]
        return logits + (gather_pairs(by_distance, self.row) + content) * a.scale


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


@implements("da")
class DistanceAware(Encoding):
    """ReLU(logits) (1 + exp(v)) / (1 + exp(v - w |i - j|)), v and w [L, H]."""

    def logits(self, a, logits):
        v, w = self.v[a.layer][:, None, None], self.w[a.layer][:, None, None]
        return logits.relu() * (w * self.apart().abs() - v).sigmoid() / (-v).sigmoid()
