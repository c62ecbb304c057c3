import math

from fixed import computes


def sinusoid(p, columns, width, options):
    """Returns sines and cosines of p base^(-k/width)."""
    base, layout, row = float(options["sinusoid-base"]), options.get("sinusoid-layout", "interleaved"), []
    if layout in ("concat", "t2t"):
        last = width // 2 - (layout == "t2t")
        angles = [p * base ** (-k / last) for k in range(columns // 2)]
        row = [math.sin(a) for a in angles] + [math.cos(a) for a in angles]
        return row + [0.0] * (columns - len(row))
    for j in range(columns):
        angle = p * base ** (-(j if layout == "tutorial" else j - j % 2) / width)
        row.append(math.cos(angle) if j % 2 else math.sin(angle))
    return row


@computes("1d-fixed")
def of_line(options, at):
    first = float(options["positions-from"])
    return {"fixed": [[sinusoid(first + p, at.d_model, at.d_model, options) for p in range(at.n)]]}
