#!/usr/bin/python3
"""real.py OUT COUNT TRAIN STRIDE LEVEL=MASKS... FILES...: the conditional Gaussian on resting-state runs, with numpy.

FILES are HDF5 files with /restdata [parcels, frames]. Z-scores each run and parcel, writes all as OUT, float32 [runs x frames,
parcels], takes the first TRAIN of COUNT runs for training and each STRIDE-th frame of the others for testing, with the masks
of the file MASKS (bytes 0 and 1), and prints {"frames": a run, "parcels": n, "mse": {LEVEL: {zero, mean, gaussian}}} as JSON.
Needs numpy and h5py.
"""
import json
import sys

import h5py
import numpy as np

out, count, train, stride = sys.argv[1], *map(int, sys.argv[2:5])
rest = sys.argv[5:]
files = rest[-count:]
runs = []
for name in files:
    with h5py.File(name, "r") as f:
        x = f["restdata"][()]
    runs.append(((x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)).T.astype(np.float32))
np.concatenate(runs).tofile(out)
fit = np.concatenate(runs[:train]).astype(np.float64)
test = np.concatenate(runs[train:]).astype(np.float64)[::stride]
mean, cov = fit.mean(axis=0), np.cov(fit.T)
ridged = cov + 1e-3 * np.eye(len(cov))
result = {}
for item in rest[:-count]:
    level, name = item.split("=", 1)
    masks = np.fromfile(name, dtype=np.uint8).reshape(len(test), -1).astype(bool)
    sums, n = np.zeros(3), 0
    for x, mask in zip(test, masks):
        v, m = np.flatnonzero(~mask), np.flatnonzero(mask)
        gauss = mean[m] + ridged[np.ix_(m, v)] @ np.linalg.solve(ridged[np.ix_(v, v)], x[v] - mean[v])
        beta = cov[np.ix_(m, v)].mean(axis=1) / cov[np.ix_(v, v)].mean()
        line = mean[m] + beta * (x[v].mean() - mean[v].mean())
        sums += [(x[m] ** 2).sum(), ((x[m] - line) ** 2).sum(), ((x[m] - gauss) ** 2).sum()]
        n += len(m)
    result[level] = dict(zip(["zero", "mean", "gaussian"], (sums / n).tolist()))
print(json.dumps({"frames": len(runs[0]), "parcels": runs[0].shape[1], "mse": result}))
