import math

from fixed import computes


@computes("tener")
def tener_tables(options, at):
    """Sines and cosines of offsets from -(N - 1) on."""
    width, rows = at.head_width, []
    for offset in range(1 - at.n, at.n):
        if options["tener-frequencies"] == "code":
            angles = [offset * 10000 ** (-k / (width // 2 - 1)) for k in range(width // 2)]
            rows.append([math.sin(a) for a in angles] + [math.cos(a) for a in angles])
        else:
            angles = [offset * 10000 ** (-2 * k / width) for k in range(width // 2)]
            rows.append([f(a) for a in angles for f in (math.sin, math.cos)])
    return {"sinusoids": rows}


@computes("transformer-xl")
def transformer_xl_tables(options, at):
    """Sines, then cosines, of distances from 0 on, or in both directions from -(N - 1) on."""
    d, rows = at.d_model, []
    if options["xl-keys"] == "free" or options["xl-table"] == "learned":
        return {}
    for distance in range(0 if options["xl-direction"] == "causal" else 1 - at.n, at.n):
        angles = [distance * 10000 ** (-2 * k / d) for k in range(d // 2)]
        rows.append([math.sin(a) for a in angles] + [math.cos(a) for a in angles])
    return {"table": rows}
