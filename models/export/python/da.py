from encoding import Encoding, implements


@implements("da")
class DistanceAware(Encoding):
    """ReLU(logits) (1 + exp(v)) / (1 + exp(v - w |i - j|)), v and w [L, H]."""

    def logits(self, a, logits):
        v, w = self.v[a.layer][:, None, None], self.w[a.layer][:, None, None]
        return logits.relu() * (w * self.apart().abs() - v).sigmoid() / (-v).sigmoid()
