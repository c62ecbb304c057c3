"""Writes gaussian.json beside itself: the network of the paper's appendix A.4, simulated once more in numpy, and the error at which the
best linear prediction of masked nodes ends. 60 networks, AR weights over the 3 lags, 20,000 time points, the last 30 % held out, 8 of 15
nodes masked (half, rounded). Run: /usr/bin/python3 make.py (seconds)"""
import json
import os

import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
NETWORKS, NODES, LAGS, FRAMES, BURN, MASKED, MASKS = 60, 15, 3, 20_000, 1_000, 8, 300
rng = np.random.default_rng(0)

own = rng.uniform(0.2, 0.5, (NETWORKS, LAGS, NODES)) / LAGS
module = np.arange(NODES) // 5
coupling = np.where(module[:, None] == module, rng.uniform(0.02, 0.2, (NETWORKS, NODES, NODES)), rng.uniform(0.005, 0.01, (NETWORKS, NODES, NODES)))
coupling[:, range(NODES), range(NODES)] = 0
past, x = np.zeros((NETWORKS, LAGS, NODES)), np.empty((FRAMES, NETWORKS, NODES))
for t in range(BURN + FRAMES):
    now = (own * past).sum(1) + (coupling @ np.sin(past[:, 0])[:, :, None])[:, :, 0] + 0.2 * rng.standard_normal((NETWORKS, NODES))
    past = np.concatenate([now[:, None], past[:, :-1]], 1)
    if t >= BURN:
        x[t - BURN] = now


def error(x):
    """Mean squared error of the conditional Gaussian of the first 70 % on the rest; MASKS masks, each on the frames of its turn."""
    train, test = x[: FRAMES * 7 // 10], x[FRAMES * 7 // 10 :]
    mean, cov, total, count = train.mean(0), np.cov(train.T), 0.0, 0
    for i in range(MASKS):
        hidden = np.zeros(NODES, bool)
        hidden[rng.choice(NODES, MASKED, replace=False)] = True
        seen, rows = ~hidden, test[i::MASKS]
        predicted = mean[hidden] + (rows[:, seen] - mean[seen]) @ np.linalg.solve(cov[np.ix_(seen, seen)], cov[np.ix_(seen, hidden)])
        total, count = total + ((predicted - rows[:, hidden]) ** 2).sum(), count + predicted.size
    return total / count


out = {"raw": [], "zscored": []}
for k in range(NETWORKS):
    one = x[:, k]
    out["raw"].append(round(float(error(one)), 6))
    out["zscored"].append(round(float(error((one - one.mean(0)) / one.std(0))), 5))
with open("gaussian.json", "w") as f:
    json.dump(out, f)
    f.write("\n")
