import math

from fixed import computes


def turned(options, at, frequencies, factor=1.0):
    """Returns cosines and sines [N, P] of (first + p) times the frequencies."""
    first = float(options["positions-from"])
    angles = [[(first + p) * f for f in frequencies] for p in range(at.n)]
    return {"cos": [[factor * math.cos(a) for a in row] for row in angles],
            "sin": [[factor * math.sin(a) for a in row] for row in angles]}


def plain(options, dims):
    """Returns base^(-2k/dims) of each pair k."""
    base = float(options["rope-base"])
    return [base ** (-2 * k / dims) for k in range(dims // 2)]


def dims_of(options, at):
    dims = options.get("rope-dims", "all")
    return at.head_width if dims == "all" else int(dims)


def fastest(options, frequencies, dims):
    """Returns the frequencies, 0 for those beyond rope-proportion."""
    kept = int(float(options.get("rope-proportion", 1)) * dims / 2)
    return [f if k < kept else 0.0 for k, f in enumerate(frequencies)]


@computes("rope")
def rope_tables(options, at):
    dims = dims_of(options, at)
    return turned(options, at, fastest(options, plain(options, dims), dims))
