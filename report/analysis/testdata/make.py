"""Writes arrays beside itself and expected.json, what numpy and scipy make of them.
Run: /usr/bin/python3 make.py (numpy 1.24, scipy 1.10)"""
import json
import os
import struct

import numpy as np
import scipy.io
import scipy.linalg
import scipy.spatial
import scipy.stats
from scipy.spatial.distance import jensenshannon, pdist, squareform

os.chdir(os.path.dirname(os.path.abspath(__file__)))
rng = np.random.default_rng(11)
N, D, K, HEADS = 9, 8, 6, 2
table = rng.normal(size=(N, D))
reference = rng.normal(size=(N, D)) * 2
labels = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
query, key = rng.normal(size=(K, D)), rng.normal(size=(K, D))
words = rng.normal(size=(20, D))
weights = rng.uniform(size=(N, N))
weights = (weights + weights.T) / 2
np.fill_diagonal(weights, 0)


def safetensors(path, tensors):
    header, payload = {}, b""
    for name, x in tensors.items():
        x = np.ascontiguousarray(x)
        kind = {"float64": "F64", "float32": "F32"}[str(x.dtype)]
        header[name] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [len(payload), len(payload) + x.nbytes]}
        payload += x.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + payload)


np.save("table.npy", table)
np.savez("arrays.npz", table=table, reference=reference, query=query)
safetensors("model.safetensors", {
    "embeddings.position_embeddings.weight": table, "embeddings.word_embeddings.weight": words,
    "attention.query.weight": query, "attention.key.weight": key, "attention.key.bias": np.zeros(K), "stack": np.stack([table, reference]),
})
scipy.io.savemat("table.mat", {"table": table, "note": "words"})
names = [f"t{i}" for i in range(N)]
np.savetxt("weights.csv", weights, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
with open("modules.csv", "w") as f:  # in another order than the tokens
    f.write("name,module\n" + "".join(f"{names[i]},{'abc'[labels[i]]}\n" for i in rng.permutation(N)))
with open("labels.txt", "w") as f:
    f.write("".join(f"{v}\n" for v in labels))
with open("named.csv", "w") as f:
    f.write("," + ",".join(f"d{k}" for k in range(D)) + "\n" + "".join(names[i] + "," + ",".join("%.17g" % v for v in table[i]) + "\n" for i in range(N)))
out = {}


def network(w):
    w = w - np.diag(np.diag(w))
    k, l = w.sum(1), w.sum()
    same = labels[:, None] == labels[None]
    q = ((w - np.outer(k, k) / l) * same).sum() / l
    c = []
    for m in range(3):
        inside = labels == m
        pairs = w[np.ix_(inside, inside)]
        w_in = pairs[~np.eye(len(pairs), dtype=bool)].mean()
        c.append((w_in - w[np.ix_(inside, ~inside)].mean()) / w_in)
    return {"modularity": q, "clustering": float(np.mean(c))}


euclidean, cosine = squareform(pdist(table)), squareform(pdist(table, "cosine"))
out["network"] = {"euclidean": network(1 - euclidean / euclidean.max()), "cosine": network(1 - cosine / cosine.max()), "weights": network(weights)}
out["distances"] = {"euclidean": euclidean.tolist(), "cosine": cosine.tolist()}


def sinusoid(p, d):
    x = np.zeros((len(p), d))
    angle = np.asarray(p)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
    x[:, ::2], x[:, 1::2] = np.sin(angle), np.cos(angle)
    return x


def procrustes(a, b):
    def residual(x):
        return float(np.linalg.norm(x @ scipy.linalg.orthogonal_procrustes(x, b)[0] - b))

    return {"raw": residual(a), "norm_matched": residual(a * np.linalg.norm(b) / np.linalg.norm(a)), "disparity": float(scipy.spatial.procrustes(b, a)[2])}


place = np.arange(N)
# From 1 and columns first, as the paper's text and code differ: turned columns only.
out["procrustes"] = {
    "reference": procrustes(table, reference), "1d-fixed": procrustes(table, sinusoid(place + 1, D)),
    "2d-fixed": procrustes(table, np.hstack([sinusoid(place % 3 + 1, D // 2), sinusoid(place // 3 + 1, D // 2)])),
}


def r2(m):
    n = len(m)
    best = np.array([[np.diagonal(m, j - i).mean() for j in range(n)] for i in range(n)])
    return float(1 - ((m - best) ** 2).sum() / ((m - m.mean()) ** 2).sum())


def scores(e):
    q, k = (e @ query.T).reshape(N, HEADS, -1), (e @ key.T).reshape(N, HEADS, -1)
    return [r2(np.einsum("ik,jk->ij", q[:, h], k[:, h])) for h in range(HEADS)]


mean = words.mean(0)
whole = []  # the paper's appendix C, equation 12: the three terms that know positions
for h in range(HEADS):
    at = slice(h * K // HEADS, (h + 1) * K // HEADS)
    w = query[at].T @ key[at]
    whole.append(r2((mean @ w @ table.T)[None] + (table @ w @ mean)[:, None] + table @ w @ table.T))
c = table - table.mean(0)
out["toeplitz"] = {"r2": r2(table @ table.T), "r2_centred": r2(c @ c.T), "attention": scores(table), "with_words": whole, "first_five": r2(table[:5] @ table[:5].T)}
u, s, _ = np.linalg.svd(c, full_matrices=False)
x = (u * s)[:, :2]
x *= np.sign(x[np.abs(x).argmax(0), [0, 1]])
distances = pdist(x)
out["map"] = {"pca": x.tolist(), "explained": (s**2 / (s**2).sum())[:2].tolist(),
              # classical scaling of Euclidean distances has the coordinates of the principal components
              "stress": float(np.sqrt(((pdist(table) - distances) ** 2).sum() / (pdist(table) ** 2).sum()))}
v = np.linalg.svd(table, compute_uv=False)
p = v / v.sum()
out["rank"] = {"frobenius": float(np.linalg.norm(table)), "mean_row_norm": float(np.linalg.norm(table, axis=1).mean()), "effective_rank": float(np.exp(-(p * np.log(p)).sum()))}
more = np.random.default_rng(12)  # its own, so that what is above stays as it is
LAYERS, EXAMPLES, MAP_HEADS, TOKENS = 3, 4, 2, 5
maps = np.exp(1.5 * more.normal(size=(2, LAYERS, EXAMPLES, MAP_HEADS, TOKENS, TOKENS)))
maps[0, 0, 0, 0, 0] = [0, 0, 1, 0, 0]
maps /= maps.sum(-1, keepdims=True)
np.savez("attention.npz", maps=maps[0], one_head=maps[0, :, :, 0], one_layer=maps[0, 0, :, 0])
safetensors("attention.safetensors", {"maps": maps[1], "one_head": maps[1, :, :, 0], "one_layer": maps[1, 0, :, 0], "map": maps[1, 0, 1, 0]})
np.savetxt("map.csv", maps[0, 0, 1, 0], delimiter=",", fmt="%.17g")


def similarity(a, b):  # two vectors of heads, tokens and tokens
    return np.array([1 - scipy.spatial.distance.cosine(a.ravel(), b.ravel()),
                     np.mean([jensenshannon(p, q, 2) ** 2 for p, q in zip(a.reshape(-1, TOKENS), b.reshape(-1, TOKENS))])])


pooled = {
    "each": lambda a, b: np.mean([similarity(p, q) for x, y in zip(a, b) for p, q in zip(x, y)], 0),
    "layers": lambda a, b: np.mean([similarity(p, q) for p, q in zip(a.mean(0), b.mean(0))], 0),
    "puzzles": lambda a, b: np.mean([similarity(p, q) for p, q in zip(a.mean(1), b.mean(1))], 0),
    "all": similarity,
}


def compared(how, a, b):
    """Arrays [layers, examples, ...] as a whole, by layer and by example."""
    part = lambda x, y: dict(zip(["cosine", "jsd"], map(float, pooled[how](x, y))))
    return part(a, b) | {"layers": [{"layer": i} | part(a[i : i + 1], b[i : i + 1]) for i in range(len(a))],
                         "by_example": [{"example": i} | part(a[:, i : i + 1], b[:, i : i + 1]) for i in range(len(a[0]))]}


out["attention"] = {how: compared(how, *maps) for how in pooled} | {
    "one_head": compared("puzzles", *maps[:, :, :, 0]), "one_layer": compared("layers", *maps[:, :1, :, 0]), "map": compared("each", *maps[:, :1, 1:2, 0]),
}
with open("expected.json", "w") as f:
    json.dump(out, f, indent=1)
