import math

from fixed import computes


def of_angles(angles):
    return {"cos": [[math.cos(a) for a in row] for row in angles],
            "sin": [[math.sin(a) for a in row] for row in angles]}


@computes("rope-2d")
def rope_2d_tables(options, at):
    width, unit = at.head_width, float(options["rope-unit"])
    points = [[c / unit for c in point] for point in at.by_place(at.coordinates(2))]
    if options["rope-2d-order"] == "columns-first":
        points = [point[::-1] for point in points]
    if options["rope-2d"] == "mixed":
        return {"places": points}
    base = 100.0 if options["rope-2d-base"] == "auto" else float(options["rope-2d-base"])
    frequencies = [base ** (-4 * k / width) for k in range(width // 4)]
    return of_angles([[c * f for c in point for f in frequencies] for point in points])


@computes("rope-3d")
def rope_3d_tables(options, at):
    axes = options["rope-axes"]
    points = at.by_place(at.coordinates(0 if axes == "all" else int(axes)))
    axes = len(points[0]) if axes == "all" else int(axes)
    pairs, base = at.head_width // (2 * axes), float(options["rope-base"])
    frequencies = [base ** (-k / pairs) for k in range(pairs)]
    highest = float(options["rope-max-frequency"])
    if highest > 0:
        steps = (highest / 2 - 1) / max(1, pairs - 1)
        frequencies = [math.pi * (1 + steps * k) for k in range(pairs)]
        ends = [(min(c), max(c)) for c in zip(*points)]
        points = [[-1 + 2 * (c - low) / (high - low) if high > low else -1
                   for c, (low, high) in zip(point, ends)] for point in points]
    return of_angles([[c * f for c in point for f in frequencies] for point in points])


@computes("rope-dinov3")
def dinov3_tables(options, at):
    width = at.head_width
    base = 100.0 if options["rope-2d-base"] == "auto" else float(options["rope-2d-base"])
    frequencies = [2 * math.pi * base ** (-4 * m / width) for m in range(width // 4)]
    if options["dinov3-periods"] != "auto":
        least, largest = (float(x) for x in options["dinov3-periods"].split(","))
        count = len(frequencies)
        frequencies = [2 * math.pi / (least * (largest / least) ** (m / max(1, count - 1)))
                       for m in range(count)]
    sides = [max(cell[axis] for cell in at.cells) + 1 for axis in (0, 1)]
    if options["dinov3-normalize"] in ("max", "min"):
        sides = [(max if options["dinov3-normalize"] == "max" else min)(sides)] * 2
    offset = float(options["dinov3-offset"])
    places = [[2 * (c + 0.5 + offset) / side - 1 for c, side in zip(cell, sides)]
              for cell in at.by_place(at.cells)]
    tables = of_angles([[c * f for c in place for f in frequencies] for place in places])
    shift = float(options["dinov3-shift"])
    jitter, rescale = math.log(float(options["dinov3-jitter"])), math.log(float(options["dinov3-rescale"]))
    if shift or jitter or rescale:
        tables.update(places=places, frequency=frequencies, bounds=[shift, shift, jitter, jitter, rescale])
    return tables
