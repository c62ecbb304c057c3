"""Writes tables.json beside itself: tables, matrices and attention maps with what numpy and scipy make of them.
Run: /usr/bin/python3 tables.py"""
import json
import os

import numpy as np
import scipy.linalg
import scipy.spatial
from scipy.spatial.distance import jensenshannon

rng = np.random.default_rng(5)
out = {"procrustes": [], "embeddings": [], "toeplitz": [], "attention": {}}


def flat(x):
    return np.asarray(x, float).ravel().tolist()


turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
base = rng.normal(size=(16, 10))
for name, a, b in [
    ("unlike", rng.normal(size=(16, 10)) * 2, base),
    ("turned", base @ turn, base),
    ("turned and scaled", 3 * base @ turn + 1, base),
    ("wide", rng.normal(size=(4, 12)), rng.normal(size=(4, 12)) * 0.1),
]:
    def residual(x, y):
        r, _ = scipy.linalg.orthogonal_procrustes(x, y)
        return float(np.linalg.norm(x @ r - y))

    matched = a * np.linalg.norm(b) / np.linalg.norm(a)
    disparity = scipy.spatial.procrustes(b, a)[2]
    out["procrustes"].append(
        {"name": name, "n": a.shape[0], "d": a.shape[1], "a": flat(a), "b": flat(b), "raw": residual(a, b),
         "norm_matched": residual(matched, b), "disparity": float(disparity)}
    )
for x in [rng.normal(size=(9, 5)), rng.normal(size=(6, 2)) @ rng.normal(size=(2, 7)), np.sin(np.outer(np.arange(16), 1 / 1000 ** (np.arange(8) / 8)))]:
    c = x - x.mean(0)
    u, s, _ = np.linalg.svd(c, full_matrices=False)
    coordinates = (u * s)[:, :2]
    coordinates *= np.sign(coordinates[np.abs(coordinates).argmax(0), [0, 1]])
    full = np.linalg.svd(x, compute_uv=False)
    p = full / full.sum()
    p = p[p > 0]
    gram = x @ x.T
    n = len(x)
    best = np.array([[np.diagonal(gram, j - i).mean() for j in range(n)] for i in range(n)])
    out["embeddings"].append(
        {"n": n, "d": x.shape[1], "x": flat(x), "pca": flat(coordinates), "explained": flat((s**2 / (s**2).sum())[:2]),
         "rank": float(np.exp(-(p * np.log(p)).sum())), "gram": flat(gram),
         "toeplitz": float(1 - ((gram - best) ** 2).sum() / ((gram - gram.mean()) ** 2).sum())}
    )
LAYERS, EXAMPLES, ROWS, N = 3, 4, 5, 5
maps = []
for _ in range(2):
    w = np.exp(rng.normal(size=(LAYERS, EXAMPLES, ROWS, N)))
    w[0, 0, 0] = [1, 0, 0, 0, 0]
    maps.append(w / w.sum(-1, keepdims=True))
a, b = maps


def cosine(x, y):
    x, y = x.ravel(), y.ravel()
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def jsd(x, y):
    x, y = x.reshape(-1, N), y.reshape(-1, N)
    return float(np.mean([jensenshannon(p, q, 2) ** 2 for p, q in zip(x, y)]))


al, bl, ae, be = a.mean(0), b.mean(0), a.mean(1), b.mean(1)
out["attention"] = {
    "layers": LAYERS, "examples": EXAMPLES, "rows": ROWS, "n": N, "a": [flat(x) for x in a], "b": [flat(x) for x in b],
    "cosine": {
        "each": float(np.mean([[cosine(a[l, e], b[l, e]) for e in range(EXAMPLES)] for l in range(LAYERS)])),
        "layers": float(np.mean([cosine(al[e], bl[e]) for e in range(EXAMPLES)])),
        "puzzles": float(np.mean([cosine(ae[l], be[l]) for l in range(LAYERS)])),
        "all": cosine(a, b),
    },
    "jsd": {"each": jsd(a, b), "layers": jsd(al, bl), "puzzles": jsd(ae, be), "all": jsd(a, b)},
    "by_layer": [float(np.mean([cosine(a[l, e], b[l, e]) for e in range(EXAMPLES)])) for l in range(LAYERS)],
}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables.json"), "w") as f:
    json.dump(out, f, separators=(",", ":"))
    f.write("\n")
