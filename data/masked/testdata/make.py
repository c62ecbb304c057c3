#!/usr/bin/python3
"""Writes baselines.json and masks.json beside itself: what the tests of package masked compare with.

baselines.json: a small table with its baselines, each sample and mask solved on its own with numpy (numpy.linalg.solve for
the conditional Gaussian, numpy.linalg.lstsq on the training frames for the regression on the visible mean).
masks.json: masks drawn by a second implementation of the generator (PCG-DXSM as in math/rand/v2, SplitMix64's finaliser).
Needs numpy. Run: /usr/bin/python3 make.py
"""
import json
import math
import os
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
M64, M128 = (1 << 64) - 1, (1 << 128) - 1


def gaussian(mean, cov, x, mask):
    """E[x_m | x_v] with numpy.linalg.solve."""
    v, m = np.flatnonzero(~mask), np.flatnonzero(mask)
    return mean[m] + cov[np.ix_(m, v)] @ np.linalg.solve(cov[np.ix_(v, v)], x[v] - mean[v])


def on_mean(train, x, mask):
    """Least-squares line of each masked token on the mean of the visible ones, over the training frames."""
    design = np.column_stack([np.ones(len(train)), train[:, ~mask].mean(axis=1)])
    coef = np.linalg.lstsq(design, train[:, mask], rcond=None)[0]
    return np.array([1, x[~mask].mean()]) @ coef


def baselines():
    rng = np.random.default_rng(11)
    tokens, frames, held = 12, 160, 8
    mixing = rng.normal(size=(tokens, 4))
    x = rng.normal(size=(frames + held, 4)) @ mixing.T + 0.7 * rng.normal(size=(frames + held, tokens)) + rng.normal(size=tokens)
    x = np.round(x * 256) / 256  # exact in float32 and short in JSON
    train, test = x[:frames], x[frames:]
    out = {"tokens": tokens, "train": train.ravel().tolist(), "test": test.ravel().tolist(), "cases": []}
    for ridge in (1e-3, 0.5):
        mean, cov = train.mean(axis=0), np.cov(train.T)
        cov += ridge * np.diag(np.diag(cov))
        for count in (1, 2, 6, 9, 11):
            masks = np.array([np.isin(np.arange(tokens), rng.permutation(tokens)[:count]) for _ in test])
            errors = {"zero": [], "mean": [], "gaussian": []}
            for row, mask in zip(test, masks):
                errors["zero"] += list(row[mask] ** 2)
                errors["mean"] += list((row[mask] - on_mean(train, row, mask)) ** 2)
                errors["gaussian"] += list((row[mask] - gaussian(mean, cov, row, mask)) ** 2)
            out["cases"].append({"ridge": ridge, "masks": masks.astype(int).ravel().tolist(), "masked": int(masks.sum()),
                                 **{k: float(np.mean(v)) for k, v in errors.items()}})
    return out


class PCG:
    """PCG-DXSM as in Go's math/rand/v2 (pcg.go)."""

    def __init__(self, hi, lo):
        self.state = hi << 64 | lo

    def uint64(self):
        mul = 2549297995355413924 << 64 | 4865540595714422341
        inc = 6364136223846793005 << 64 | 1442695040888963407
        self.state = (self.state * mul + inc) & M128
        hi, lo = self.state >> 64, self.state & M64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & M64
        hi ^= hi >> 48
        return hi * (lo | 1) & M64


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
    return x ^ x >> 31


def draw(level, exact, seed, stream, step, samples, tokens):
    golden = 0x9E3779B97F4A7C15
    h = mix((seed + golden) & M64)
    for c in stream.encode():
        h = mix(h ^ c)
    h = mix(h ^ len(stream.encode()))
    h = mix(h ^ struct.unpack("<Q", struct.pack("<d", level))[0])
    h = mix(h ^ step)
    rng = PCG(mix((h + golden) & M64), mix((h + 2 * golden) & M64))
    rows = []
    if not exact:
        while len(rows) < samples:
            row = [(rng.uint64() >> 11) < round(level * 2**53) for _ in range(tokens)]
            if 0 < sum(row) < tokens:
                rows.append(row)
        return rows

    def words():
        while True:
            w = rng.uint64()
            yield w & 0xFFFFFFFF
            yield w >> 32

    source = words()

    def below(n):
        while True:
            product = next(source) * n
            if product & 0xFFFFFFFF >= (1 << 32) % n:
                return product >> 32

    count = min(max(1, math.floor(level * tokens + 0.5)), tokens - 1)
    k = min(count, tokens - count)
    order = list(range(tokens))
    for _ in range(samples):
        for i in range(k):
            j = i + below(tokens - i)
            order[i], order[j] = order[j], order[i]
        chosen = set(order[:k])
        rows.append([(i in chosen) == (count == k) for i in range(tokens)])
    return rows


def masks():
    out = []
    for case in [(0.5, True, 1, "train", 0, 6, 15), (0.75, True, 1, "train", 1, 6, 15), (0.15, False, 1, "test", 0, 6, 15),
                 (0.5, False, 2**63 + 5, "train", 49999, 4, 15), (0.9, True, 3, "test", 0, 3, 360), (0.25, False, 4, "test", 7, 9, 3)]:
        rows = draw(*case)
        level, exact, seed, stream, step, samples, tokens = case
        out.append({"level": level, "exact": exact, "seed": seed, "stream": stream, "step": step, "samples": samples,
                    "tokens": tokens, "masks": ["".join("01"[v] for v in row) for row in rows]})
    return out


def write(name, value):
    with open(os.path.join(HERE, name), "w") as f:
        json.dump(value, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    write("baselines.json", baselines())
    write("masks.json", masks())
