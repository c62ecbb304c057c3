import math

from fixed import computes
from fixed_rope import plain, turned
from fixed_rope_longer import trained_tokens


def ramp(width, base, trained, fast, slow):
    """Returns for each pair 1 where it turns more than fast times over the trained tokens, 0 where less
    than slow times."""
    def dimension(turns):
        return width * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))
    low, high = max(math.floor(dimension(fast)), 0), min(math.ceil(dimension(slow)), width - 1)
    if low == high:
        high += 0.001  # as the authors' code
    return [1 - min(max((k - low) / (high - low), 0), 1) for k in range(width // 2)]


def mix(part, slow, fast):
    return [(1 - g) * s + g * f for g, s, f in zip(part, slow, fast)]


@computes("rope-yarn")
def yarn_tables(options, at):
    width, base, s = at.head_width, float(options["rope-base"]), float(options["rope-scale"])
    kind, trained, fast = options["rope-yarn"], trained_tokens(options, at), plain(options, width)
    if kind == "dynamic":
        s = max(1, at.n / trained)
    slow, factor = [f / s for f in fast], 0.1 * math.log(s) + 1
    if kind == "by-parts":
        ntk = plain({"rope-base": base * s ** (width / (width - 2))}, width)
        inner = mix(ramp(width, base, trained, 1.25, 0.75), slow, ntk)
        return turned(options, at, mix(ramp(width, base, trained, 16, 2), inner, fast))
    g = ramp(width, base, trained, float(options["yarn-beta-fast"]), float(options["yarn-beta-slow"]))
    return turned(options, at, mix(g, slow, fast), factor)
