#!/usr/bin/env python3
"""Fits the constants of erfc(z) = exp(-z^2) t P(t), t = 1/(1 + p z), z >= 0, that the shim's float GELU uses.

The form is that of Abramowitz & Stegun 7.1.26, with a polynomial of 8 terms, fitted here by reweighted least
squares to the smallest maximal error. Prints torchpe/internal/ctorch/shim/erfc.h to standard output:

    scripts/fit_erfc.py > torchpe/internal/ctorch/shim/erfc.h
"""
import numpy as np
from scipy.special import erfcx

TERMS, Z_MAX, POINTS = 8, 9.4, 4000


def fit(p):
    """The largest absolute error of erfc, and the coefficients of P, for one p."""
    lowest = 1 / (1 + p * Z_MAX)
    k = np.arange(POINTS)
    t = (lowest + 1) / 2 + (1 - lowest) / 2 * np.cos(np.pi * (k + 0.5) / POINTS)
    z = (1 / t - 1) / p
    wanted = erfcx(z) / t
    weight = np.maximum(np.exp(-z * z) * t, 1e-3)  # the floor keeps the tail's relative error in bounds
    emphasis = np.ones_like(t)
    for _ in range(60):
        root = np.sqrt(emphasis) * weight
        c, *_ = np.linalg.lstsq(np.vander(t, TERMS, increasing=True) * root[:, None], wanted * root, rcond=None)
        error = np.abs(np.vander(t, TERMS, increasing=True) @ c - wanted) * weight
        emphasis *= error / error.max() + 1e-3
        emphasis /= emphasis.sum()
    return error.max(), c


def main():
    (worst, c), p = min(((fit(p), p) for p in np.linspace(0.2, 0.6, 41)), key=lambda r: r[0][0])
    print("// erfc.h: made by scripts/fit_erfc.py; the form is in kernels.cc. Largest error of erfc: %.1e." % worst)
    print("#pragma once")
    print("#define ERFC_P %.9gf" % p)
    for i, v in enumerate(c, 1):
        print("#define ERFC_%d %.9gf" % (i, v))


if __name__ == "__main__":
    main()
