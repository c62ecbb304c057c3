import math

import torch
import torch.nn.functional as F

from biases import fire_bias, log_kernel
from encoding import Encoding, gather_pairs, implements, of_layer
from rotations import rotate


@implements("cope")
class CoPE(Encoding):
    """logits + q_i e[p_ij], p_ij = min(sum of sigmoid(logits_it) over t = j..i, P - 1), with e between
    whole numbers by linear interpolation; table e [T, P, Dh]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.causal = self.options["cope-direction"] == "causal"
        self.constant("seen", (self.apart() >= 0).double())
        self.constant("order", self.place.argsort())

    def logits(self, a, logits):
        table = of_layer(self.table, a.layer)
        gates = logits.sigmoid()
        if self.causal:
            gates = gates * self.seen
        sums = gates[..., self.order].flip(-1).cumsum(-1).flip(-1)[..., self.place]
        counts = sums.clamp(0, len(table) - 1)
        by_count = a.q @ table.T  # [B, H, N, P]
        below = counts.detach().floor()
        low = by_count.gather(-1, below.long())
        high = by_count.gather(-1, (below + 1).clamp(max=len(table) - 1).long())
        added = low + (counts - below) * (high - low)
        if self.options["cope-scaled"] == "true":
            added = added * a.scale
        return logits + added


def log_gates(x, weight, bias):
    """Returns ln sigmoid(w x + b) [B, G, N] of tokens x [B, N, D]."""
    return F.logsigmoid(F.linear(x, weight, bias)).transpose(1, 2)


@implements("forgetting")
class Forgetting(Encoding):
    """logits + the sum of ln f_l over l = j + 1 .. i, f = sigmoid(w x + b): weight [L, H, D], bias [L, H].
    In both directions keys after the query have the sum of other gates, the second H, over i + 1 .. j."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.causal = self.options["forgetting-direction"] == "causal"
        self.scale, window = float(self.options["forgetting-scale"]), int(self.options["forgetting-window"])
        self.constant("order", self.place.argsort())
        outside = self.apart().abs() >= (window or len(self.place))
        self.constant("outside", -1e30 * outside.double())

    def logits(self, a, logits):
        logs = log_gates(a.x, self.weight[a.layer], self.bias[a.layer]) * self.scale
        sums = logs[..., self.order].cumsum(-1)[..., self.place]
        apart = sums[..., :, None] - sums[..., None, :]
        if self.causal:
            return logits + apart + self.outside
        back, ahead = apart.chunk(2, 1)
        sign = self.apart().sign()
        return logits + back * (sign > 0) - ahead * (sign < 0) + self.outside


@implements("inkling")
class Inkling(Encoding):
    """The sum of (W x_i + b)_m C_m(i - j) over the curves m of each head is added to the logits, for
    distances from 0 to R - 1: weight [L, H M, D], bias [L, H M], curves C [L, R, M]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        most = int(self.options["inkling-distance"])
        self.constant("row", self.apart().clamp(0, most - 1))
        self.constant("within", ((self.apart() >= 0) & (self.apart() < most)).double())

    def logits(self, a, logits):
        weights = F.linear(a.x, self.weight[a.layer], self.bias[a.layer])
        weights = weights.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # [B, H, N, M]
        return logits + gather_pairs(weights @ self.curves[a.layer].T, self.row) * self.within


@implements("logn")
class LogN(Encoding):
    """q times a factor [N] of its place, and s [L, H] where it is trained."""

    def qkv(self, a):
        q = a.q * self.factors[self.place][:, None]
        if hasattr(self, "s"):
            q = q * self.s[a.layer][:, None, None]
        return q, a.k, a.v


@implements("repo")
class RePo(Encoding):
    """q and k are turned by z frequency [Dh/2] at positions z = final (silu(gate x) * content x) of each
    head, gate and content [L, w, D], final [L, H, w]; or z = final x."""

    def qkv(self, a):
        x = a.x
        if hasattr(self, "gate"):
            x = F.silu(F.linear(x, self.gate[a.layer])) * F.linear(x, self.content[a.layer])
        z = F.linear(x, self.final[a.layer]).transpose(1, 2)  # [B, H, N]
        angles, half = z[..., None] * self.frequency, self.options["rope-layout"] == "half"
        cos, sin = angles.cos(), angles.sin()
        return rotate(a.q, cos, sin, half), rotate(a.k, cos, sin, half), a.v


@implements("selective-rope")
class SelectiveRoPE(Encoding):
    """q and k are turned by the running sum over places of phi, times frequency [Dh/2]: phi = up down x of
    tokens x whose parts are of length 1, up [L, H P, r], down [L, r, D], then a convolution over the tokens
    up to each one, conv [L, H P, K], or the difference to the token before; plus exp(bias) [L, H P], times
    sigmoid(gate_weight x + gate_bias) of each head."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("order", self.place.argsort())

    def qkv(self, a):
        layer, x = a.layer, a.x[:, self.order].unflatten(-1, (self.heads, -1))
        x = (x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()).flatten(-2)
        phi = F.linear(F.linear(x, self.down[layer]), self.up[layer]).transpose(1, 2)  # [B, H P, N]
        n = phi.shape[-1]
        if hasattr(self, "conv"):
            conv = self.conv[layer][:, None]
            phi = F.conv1d(phi, conv, padding=conv.shape[-1] - 1, groups=len(conv))[..., :n]
        else:
            phi = phi - F.pad(phi, (1, 0))[..., :n]
        if hasattr(self, "bias"):
            phi = phi + self.bias[layer].exp()[:, None]
        phi = phi.unflatten(1, (self.heads, -1)).transpose(2, 3)  # [B, H, N, P]
        if hasattr(self, "gate_weight"):
            gate = F.linear(x, self.gate_weight[layer], self.gate_bias[layer]).sigmoid()
            phi = phi * gate.transpose(1, 2)[..., None]
        angles = phi.cumsum(2)[:, :, self.place] * self.frequency
        cos, sin, half = angles.cos(), angles.sin(), self.options["rope-layout"] == "half"
        return rotate(a.q, cos, sin, half), rotate(a.k, cos, sin, half), a.v


@implements("path")
class PaTH(Encoding):
    """logits = scale q_i H_i .. H_(j+1) k_j, H_t = I - beta_t w_t w_t^T: w = up(down(x)) of length 1, up
    [L, D, r], down [L, r, D], beta = 2 sigmoid(beta_weight x + beta_bias); with path-forget plus the
    scaled sums of logarithms of forget gates."""

    def __init__(self, config, part):
        super().__init__(config, part)
        order = self.place.argsort()
        self.constant("order", order)
        self.constant("up_to", (self.place[:, None] >= self.place[order]).double())
        self.constant("before", torch.ones(len(order), len(order), dtype=torch.float64).tril(-1))

    def logits(self, a, logits):
        x, layer = a.x[:, self.order], a.layer
        w = F.linear(x, self.down[layer]) if hasattr(self, "down") else x
        w = F.linear(w, self.up[layer]).unflatten(-1, (self.heads, self.head_width)).transpose(1, 2)
        w = F.normalize(w, dim=-1)  # [B, H, N, Dh], in the order of places
        beta = 2 * F.linear(x, self.beta_weight[layer], self.beta_bias[layer]).sigmoid()
        beta = beta.transpose(1, 2)[..., None]
        between = w @ w.transpose(-1, -2) * self.before * beta
        passed = w @ a.k[:, :, self.order].transpose(-1, -2) * self.before * beta
        eye = torch.eye(len(self.place), dtype=w.dtype, device=w.device)
        moved = torch.linalg.solve_triangular(eye + between, passed, upper=False, unitriangular=True)
        left = a.q @ w.transpose(-1, -2) * a.scale * self.up_to
        logits = logits - (left @ moved)[..., self.place]
        if self.options["path-forget"] == "true":
            logs = log_gates(a.x, self.forget_weight[layer], self.forget_bias[layer])
            sums = logs[..., self.order].cumsum(-1)[..., self.place]
            logits = logits + (sums[..., :, None] - sums[..., None, :]) * a.scale
        return logits


@implements("grape-a")
class GrapeA(Encoding):
    """-slopes (i - j) softplus(omega) g is added to the logits, omega [L, H], for gates g =
    softplus(u k_j / sqrt(Dh)) or softplus(v q_i / sqrt(Dh)) or their sum, u and v [L, H, Dh]. path: slopes
    times the sum of ln sigmoid(p_i R_l norm(p_l) / w) over l = j + 1 .. i, p = W x, weight [L, H w, D]."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.constant("distance", self.apart().clamp(min=0).double())
        self.constant("seen", (self.apart() >= 0).double())
        self.constant("order", self.place.argsort())

    def gate(self, x, vector):
        """Returns softplus(vector x / sqrt(Dh)) [B, H, N] of x [B, H, N, Dh]."""
        if self.options["grape-a-unit"] == "true":
            vector = F.normalize(vector, dim=-1)
        return F.softplus((x * vector[:, None]).sum(-1) / math.sqrt(self.head_width))

    def logits(self, a, logits):
        slopes = self.slopes[:, None, None]
        if self.options["grape-a"].startswith("path"):
            return logits + slopes * self.path(a)
        gates = 0
        if hasattr(self, "u"):
            gates = gates + self.gate(a.k, self.u[a.layer])[:, :, None]
        if hasattr(self, "v"):
            gates = gates + self.gate(a.q, self.v[a.layer])[..., None]
        omega = F.softplus(self.omega[a.layer])[:, None, None]
        return logits - omega * gates * slopes * self.distance

    def path(self, a):
        p = F.linear(a.x, self.weight[a.layer])
        p = p.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        eps = torch.finfo(p.dtype).eps  # as torch.nn.functional.rms_norm adds
        normed = p / (p.square().mean(-1, keepdim=True) + eps).sqrt()
        angles = self.place[:, None].to(p.dtype)
        turned = rotate(normed, angles.cos(), -angles.sin(), True)
        steps = F.logsigmoid(p @ turned.transpose(-1, -2) / p.shape[-1]) * self.seen
        sums = steps[..., self.order].cumsum(-1)[..., self.place]
        return (steps.sum(-1, keepdim=True) - sums) * self.seen


@implements("dape")
class DAPE(Encoding):
    """logits + B + f([logits; B]) over the 2H numbers of a pair, f = W_2 LeakyReLU(W_1 z + b_1) + b_2,
    convolutions over k keys beside each other: mix_in_weight [L, k, width, 2H], mix_out_weight
    [L, k, H, width]. B is the causal bias of alibi (slopes), kerple (a, p) or fire (its weights)."""

    def __init__(self, config, part):
        super().__init__(config, part)
        self.base, _, threshold = self.options["dape"].partition(":")
        self.threshold = float(threshold or 256)
        self.constant("distance", self.apart().clamp(min=0).double())
        self.constant("query", self.place.double())
        self.constant("seen", (self.apart() >= 0).double())
        self.constant("order", self.place.argsort())

    def bias(self, layer):
        if self.base == "alibi":
            return -self.slopes[:, None, None] * self.distance
        if self.base == "kerple":
            return log_kernel(self.a, self.p, self.distance)
        weights = (self.c, self.multiplier, self.in_weight, self.in_bias, self.out_weight, self.out_bias)
        return fire_bias([w[layer] for w in weights], self.query, self.distance, self.threshold, 0.01)

    def mix(self, x, weight, bias):
        """Applies weight [k, out, in] over keys beside each other to x [B, in, N, N]."""
        kernel = weight.permute(1, 2, 0)[:, :, None]  # [out, in, 1, k]
        return F.conv2d(x, kernel, bias, padding=(0, len(weight) // 2))

    def logits(self, a, logits):
        layer, bias = a.layer, self.bias(a.layer)
        z = torch.cat((logits, bias.expand_as(logits)), 1)
        wide = self.mix_in_weight.shape[1] > 1
        if wide:
            z = (z * self.seen)[..., self.order]
        z = F.leaky_relu(self.mix(z, self.mix_in_weight[layer], self.mix_in_bias[layer]), 0.01)
        z = self.mix(z, self.mix_out_weight[layer], self.mix_out_bias[layer])
        return logits + bias + (z[..., self.place] if wide else z)


@implements("synthesizer")
class Synthesizer(Encoding):
    """Logits without q k: matrix [L, H, N, N]; left right^T, [L, H, N, k] each; a network of each token
    with a column for each key, in_weight [L, G, h, I], in_bias, out_weight [L, G, N, h], out_bias; or
    products of two short vectors, a_weight [L, G, a, I], a_bias, b_weight [L, G, b, I], b_bias. With
    G = H it reads the layer's input, with G = 1 each head's queries."""

    def read(self, a, name):
        """Returns W x + b of each head [B, H, N, O]."""
        weight, bias = getattr(self, name + "_weight")[a.layer], getattr(self, name + "_bias")[a.layer]
        if self.options["synthesizer-input"] == "query":
            return F.linear(a.q, weight[0], bias[0])
        return a.x[:, None] @ weight.transpose(-1, -2) + bias[:, None]

    def logits(self, a, logits):
        at = self.place
        if hasattr(self, "matrix"):
            return self.matrix[a.layer][:, at][:, :, at].expand_as(logits)
        if hasattr(self, "left"):
            left, right = self.left[a.layer][:, at], self.right[a.layer][:, at]
            return (left @ right.transpose(-1, -2)).expand_as(logits)
        if hasattr(self, "a_weight"):
            first, second = self.read(a, "a"), self.read(a, "b")
            long, short = first.shape[-1], second.shape[-1]
            tiled = self.options["synthesizer"].startswith("factorised-dense-tiled")
            which = at % long if tiled else torch.div(at, short, rounding_mode="floor")
            return first[..., which] * second[..., at % short]
        hidden = self.read(a, "in").relu()
        weight, bias = self.out_weight[a.layer][:, at], self.out_bias[a.layer][:, at]
        return hidden @ weight.transpose(-1, -2) + bias[:, None]
