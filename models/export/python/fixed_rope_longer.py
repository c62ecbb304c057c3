import math

from fixed import computes
from fixed_rope import dims_of, fastest, plain, turned


def trained_tokens(options, at):
    return float(options["rope-trained-tokens"]) or float(at.n)


@computes("rope-pi")
def pi_tables(options, at):
    s, trained, dims = float(options["rope-scale"]), int(options["rope-trained-tokens"]), at.head_width
    if trained:
        s = max(1, at.n / trained)
    return turned(options, at, [f / s for f in fastest(options, plain(options, dims), dims)])


@computes("rope-ntk")
def ntk_tables(options, at):
    dims, alpha, trained = dims_of(options, at), float(options["rope-scale"]), int(options["rope-trained-tokens"])
    if trained:
        alpha = alpha * at.n / trained - (alpha - 1) if at.n > trained else 1
    base = float(options["rope-base"]) * alpha ** (dims / (dims - 2))
    return turned(options, at, plain({"rope-base": base}, dims))


@computes("rope-llama3")
def llama3_tables(options, at):
    dims, s, trained = dims_of(options, at), float(options["rope-scale"]), trained_tokens(options, at)
    low, high, frequencies = float(options["llama3-low"]), float(options["llama3-high"]), []
    for f in plain(options, dims):
        g = min(max((trained * f / (2 * math.pi) - low) / (high - low), 0), 1)
        frequencies.append((1 - g) * f / s + g * f)
    return turned(options, at, frequencies)


@computes("hope")
def hope_tables(options, at):
    all_of, slowest = plain(options, at.head_width), 2 * math.pi / trained_tokens(options, at)
    kept = 1
    while kept < len(all_of) and all_of[kept] > slowest:
        kept += 1
    return turned(options, at, [f if k < kept else 0.0 for k, f in enumerate(all_of)])


@computes("xpos")
def xpos_tables(options, at):
    gamma, span, width = float(options["xpos-gamma"]), float(options["xpos-scale-base"]), at.head_width
    first = float(options["positions-from"])
    centre = first + math.ceil(at.n / 2)
    tables = turned(options, at, plain(options, width))
    decay = [[((2 * k + gamma * width) / ((1 + gamma) * width)) ** ((first + p - centre) / span)
              for k in range(width // 2)] for p in range(at.n)]
    out = {}
    for name, rows in tables.items():
        out[name] = [[x * y for x, y in zip(*pair)] for pair in zip(rows, decay)]
        out["key_" + name] = [[x / y for x, y in zip(*pair)] for pair in zip(rows, decay)]
    return out


@computes("pope")
def pope_tables(options, at):
    dims = at.head_width if options["pope-dims"] == "all" else int(options["pope-dims"])
    base = float(options["rope-base"])
    angles = [[p * base ** (-k / dims) for k in range(dims)] for p in range(at.n)]
    return {"cos": [[math.cos(a) for a in row] for row in angles],
            "sin": [[math.sin(a) for a in row] for row in angles]}
