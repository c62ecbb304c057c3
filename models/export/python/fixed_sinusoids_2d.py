import math

from fixed import computes
from fixed_sinusoids import sinusoid


@computes("2d-fixed")
def of_grid(options, at):
    first, half, rows = float(options["positions-from"]), at.d_model // 2, []
    width = at.d_model if options["grid-exponent"] == "full" else half
    for cell in at.cells:
        place = [first + c for c in cell]
        if options["grid-normalize"] == "true":
            ends = [first + max(c[axis] for c in at.cells) + 1e-6 for axis in (0, 1)]
            place = [2 * math.pi / end * p for p, end in zip(place, ends)]
        if options["grid-order"] == "columns-first":
            place.reverse()
        rows.append([x for p in place for x in sinusoid(p, half, width, options)])
    return {"fixed": [rows]}


@computes("3d-fixed")
def of_space(options, at):
    first, padded, rows = float(options["positions-from"]), options["space-layout"] == "padded", []
    width = 2 * (at.d_model // 6) if padded else 2 * ((at.d_model + 5) // 6)
    layout = dict(options, **{"sinusoid-layout": "t2t" if padded else "interleaved"})
    for point in at.coordinates(3):
        point = point[::-1] if padded else point
        row = [x for p in point for x in sinusoid(first + p, width, width, layout)]
        rows.append((row + [0.0] * at.d_model)[:at.d_model])
    return {"fixed": [rows]}
