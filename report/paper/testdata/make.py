"""Writes claims.json beside itself: accuracies of made-up models by seed, and what scipy (1.10) makes of them: the mean of
the differences of pairs with its 95 % interval and the paired t-test, the interval of a mean, and Spearman's correlation.
Run: /usr/bin/python3 make.py"""
import json
import os
import sys

import numpy as np
import scipy.stats as st

os.chdir(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, "../../../scripts")
from rank_correlation import spearman

rng = np.random.default_rng(2406)


def accuracies(mean, sd, n):
    return [float(v) for v in np.round(rng.normal(mean, sd, n), 4)]


out = {"pairs": {}, "means": {}, "correlations": {}}
for name, (high, low, n, m) in {
    "clear": ((0.95, 0.02), (0.80, 0.03), 6, 6),
    "opposite": ((0.70, 0.03), (0.90, 0.02), 5, 5),
    "unclear": ((0.90, 0.04), (0.90, 0.05), 7, 7),
    "four": ((0.95, 0.01), (0.60, 0.02), 4, 4),
    "some seeds": ((0.90, 0.02), (0.85, 0.02), 8, 6),  # the second has every seed but the first and the fourth
}.items():
    seeds = [int(v) for v in rng.permutation(50)[:n]]
    x, y = accuracies(*high, n), accuracies(*low, m)
    if n == m:
        order = [int(v) for v in rng.permutation(n)]
    else:
        order = [7, 2, 1, 6, 4, 5]
    a = [x[i] for i in order]  # of the pairs in the order of the second
    d = st.t.interval(0.95, m - 1, loc=np.mean(np.subtract(a, y)), scale=st.sem(np.subtract(a, y)))
    t, p = st.ttest_rel(a, y)
    out["pairs"][name] = {
        "high": {"seeds": seeds, "values": x}, "low": {"seeds": [seeds[i] for i in order], "values": y},
        "difference": float(np.mean(np.subtract(a, y))), "interval": list(map(float, d)), "t": float(t), "p": float(p),
    }
for name, (mean, sd, n) in {"about 0": (0, 0.03, 6), "away": (0.2, 0.03, 5), "four": (0, 0.1, 4)}.items():
    x = accuracies(mean, sd, n)
    out["means"][name] = {"values": x, "interval": list(map(float, st.t.interval(0.95, n - 1, loc=np.mean(x), scale=st.sem(x))))}
for name, slope, n in [("rising", 1, 9), ("falling", -1, 9), ("neither", 0, 9), ("four", 0.2, 4)]:
    x = accuracies(0.5, 0.2, n)
    y = [float(np.round(slope * v + rng.normal(0, 0.05), 4)) for v in x]
    rho, p = spearman(x, y)
    out["correlations"][name] = {"x": x, "y": y, "rho": rho, "p": p}
with open("claims.json", "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
