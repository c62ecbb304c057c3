import torch
import torch.nn.functional as F

from encoding import Encoding, implements


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
