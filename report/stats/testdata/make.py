"""Writes scipy.json beside itself: inputs, and what scipy (1.10) makes of them. Run: /usr/bin/python3 make.py"""
import json
import os

import numpy as np
import scipy.stats as st

rng = np.random.default_rng(7)
pairs = {
    "noise": (rng.normal(size=15), rng.normal(size=15)),
    "ties": (np.array([1, 2, 2, 3, 3, 3, 4.0]), np.array([2, 1, 1, 5, 4, 4, 4.0])),
    "far": (np.arange(20.0), np.arange(20) * 3 + rng.normal(size=20) * 0.3),
    "opposite": (np.arange(12.0), -np.arange(12.0) ** 3),
    "large offset": (1e4 + rng.normal(size=30), 1e4 + rng.normal(size=30)),
    "three": (np.array([1.0, 2, 4]), np.array([1.0, 3, 2])),
}
out = {"pairs": [], "groups": [], "holm": [], "summaries": []}
for name, (x, y) in pairs.items():
    out["pairs"].append(
        {
            "name": name, "x": list(x), "y": list(y),
            "pearson": list(map(float, st.pearsonr(x, y))), "spearman": list(map(float, st.spearmanr(x, y))),
            "paired": list(map(float, st.ttest_rel(x, y))), "welch": list(map(float, st.ttest_ind(x, y, equal_var=False))),
        }
    )
for name, groups in {
    "same": [rng.normal(size=6) for _ in range(8)],
    "unequal": [rng.normal(size=3), rng.normal(size=9) + 1, rng.normal(size=5) * 4],
    "tiny p": [rng.normal(size=20) + 60 * i for i in range(4)],
    "single": [np.array([1.0]), np.array([2.0, 3.0, 2.5])],
}.items():
    f, p = st.f_oneway(*groups)
    out["groups"].append({"name": name, "groups": [list(g) for g in groups], "f": float(f), "p": float(p)})
for a, b in [((0.977, 0.073, 15), (0.956, 0.039, 15)), ((0.5, 0.0, 3), (0.7, 0.1, 40))]:
    t, p = st.ttest_ind_from_stats(*a, *b, equal_var=False)
    out["summaries"].append({"a": a, "b": b, "t": float(t), "p": float(p)})
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "scipy.json"), "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
