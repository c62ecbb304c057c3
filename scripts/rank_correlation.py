"""Spearman's correlation by scipy, for the fixtures of tests."""

import numpy as np
import scipy.stats as st


def spearman(x, y):
    """Returns rho and its two-sided p: over all orders of fewer than ten pairs, else by Student's t."""
    rho, p = st.spearmanr(x, y)
    if len(x) < 10:
        a, b = st.rankdata(x), st.rankdata(y)
        a, b = a - a.mean(), b - b.mean()
        p = st.permutation_test((a,), lambda a, axis: abs((a * b).sum(axis)), permutation_type="pairings", vectorized=True,
                                alternative="greater", n_resamples=np.inf, batch=10000).pvalue
    return [float(rho), float(p)]
