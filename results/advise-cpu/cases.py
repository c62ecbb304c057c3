"""Writes the tables of the small cases: ring.csv, permuted.csv and stocks.csv, 4,000 samples each, and
permuted00.csv to permuted39.csv."""

import numpy as np

rng = np.random.default_rng(7)
SAMPLES = 4000


def write(name, x):
    header = ",".join("t%02d" % i for i in range(x.shape[1]))
    np.savetxt(name, x, fmt="%.5f", delimiter=",", comments="", header=header)


# 24 tokens on a ring, in a shuffled order; three bumps a sample at random angles, and noise.
place = rng.permutation(24)
angles = 2 * np.pi * place / 24
x = np.zeros((SAMPLES, 24))
for _ in range(3):
    at, height = rng.uniform(0, 2 * np.pi, (SAMPLES, 1)), rng.standard_normal((SAMPLES, 1))
    x += height * np.exp(3 * (np.cos(angles - at) - 1))
x += 0.1 * rng.standard_normal(x.shape)
write("ring.csv", x)

# The same samples, the tokens of each in an order of its own: no position tells anything.
write("permuted.csv", rng.permuted(x, axis=1))

# Returns of 30 stocks: a market, six sectors of five stocks, loadings that differ, and noise.
sector = np.repeat(np.arange(6), 5)
market, sectors = rng.standard_normal((SAMPLES, 1)), rng.standard_normal((SAMPLES, 6))
of_market, of_sector = rng.uniform(0.3, 0.7, (1, 30)), rng.uniform(0.5, 0.9, (1, 30))
returns = of_market * market + of_sector * sectors[:, sector]
write("stocks.csv", returns + 0.5 * rng.standard_normal((SAMPLES, 30)))

# Forty more tables in which no position tells anything: 2,000 samples of 12 tokens on a ring each.
SAMPLES = 2000
for table in range(40):
    rng = np.random.default_rng(table)
    angles = 2 * np.pi * np.arange(12) / 12
    x = np.zeros((SAMPLES, 12))
    for _ in range(3):
        at, height = rng.uniform(0, 2 * np.pi, (SAMPLES, 1)), rng.standard_normal((SAMPLES, 1))
        x += height * np.exp(3 * (np.cos(angles - at) - 1))
    x += 0.1 * rng.standard_normal(x.shape)
    write("permuted%02d.csv" % table, rng.permuted(x, axis=1))
