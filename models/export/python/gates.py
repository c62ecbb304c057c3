import torch
import torch.nn.functional as F

from encoding import Encoding, implements


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
