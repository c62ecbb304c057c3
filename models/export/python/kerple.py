import torch

from encoding import Encoding, implements


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
