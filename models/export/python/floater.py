import torch

from encoding import Encoding, implements


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
