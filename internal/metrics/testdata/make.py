#!/usr/bin/env python3
"""Writes scores.json: distances by scipy, modularity by its matrix form, clustering by means over numpy masks.

    /usr/bin/python3 internal/metrics/testdata/make.py
"""
import json
import os

import numpy as np
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

rng = np.random.RandomState(5)
cases = []
for n, d, modules in ((7, 3, [0, 0, 1, 1, 1, 2, 2]), (12, 8, [3] * 4 + [1] * 5 + [7] * 3), (5, 6, [0, 0, 0, 1, 2])):
    table = rng.randn(n, d) + np.array(modules)[:, None] * 0.5
    labels = np.array(modules)
    distances = {
        "euclidean": cdist(table, table),
        "sign-aligned": np.minimum(cdist(table, table), cdist(table, -table)),
        "corr2": np.array([[procrustes(a[:, None], b[:, None])[2] for b in table] for a in table]),
        "cosine": cdist(table, table, "cosine"),
    }
    case = dict(n=n, d=d, modules=modules, table=table.ravel().tolist(), distances={}, modularity={}, clustering={})
    for name, m in distances.items():
        np.fill_diagonal(m, 0)
        w = 1 - (m - m.min()) / (m.max() - m.min())
        np.fill_diagonal(w, 0)
        total, k = w.sum(), w.sum(1)
        member = (labels[:, None] == np.unique(labels)[None, :]).astype(float)
        case["distances"][name] = m.ravel().tolist()
        case["modularity"][name] = np.trace(member.T @ (w - np.outer(k, k) / total) @ member) / total
        scores = []
        for label in np.unique(labels):
            inside = labels == label
            if inside.sum() < 2:
                continue
            block = w[np.ix_(inside, inside)]
            w_in = block[~np.eye(len(block), dtype=bool)].mean()
            scores.append((w_in - w[np.ix_(inside, ~inside)].mean()) / w_in)
        case["clustering"][name] = np.mean(scores)
    cases.append(case)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "scores.json"), "w") as f:
    json.dump(cases, f)

import tables  # noqa: E402,F401  writes tables.json
