import math

from fixed import computes


def geometric(heads):
    """Returns 2^(-8h/H); where H is no power of two those of the next lower one, then every other of
    the next higher."""
    below = 2 ** int(math.log2(heads))
    slopes = [2 ** (-8 * h / below) for h in range(1, below + 1)]
    return slopes + [2 ** (-8 * h / (2 * below)) for h in range(1, 2 * below, 2)][:heads - below]


@computes("alibi", "dape", "grape-a")
def slopes_tables(options, at):
    return {"slopes": geometric(at.heads)}
