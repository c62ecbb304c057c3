import math

from fixed import computes


@computes("cape")
def cape_tables(options, at):
    d, half = at.d_model, at.d_model // 2
    if options["cape"] == "1d":
        f = float(options["cape-frequency"])
        return {"frequencies": [[f * 10000 ** (-2 * (i // 2) / d) for i in range(d)]],
                "phases": [math.pi / 2 * (i % 2) for i in range(d)]}
    rho = [math.pi * 10 ** (k / (half - 1)) for k in range(half)]
    waves = [[r * f(k) for k, r in enumerate(rho)] * 2 for f in (math.cos, math.sin)]
    return {"frequencies": waves, "phases": [math.pi / 2 * (i < half) for i in range(d)]}
