#!/usr/bin/python3
"""Writes runs.json beside itself: a small run with its residuals by numpy and scipy, which the tests of package clean
compare with. The residual is Y - X pinv(X'X) X'Y with an intercept, Y after scipy.signal.detrend (constant, then linear);
where columns depend on one another it is by scipy.linalg.lstsq on scaled columns. Needs numpy and scipy.
Run: /usr/bin/python3 make.py
"""
import json
import os

import numpy as np
import scipy.linalg
import scipy.signal

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMES, PARCELS = 110, 3


def difference(x):
    return np.diff(x, axis=0, prepend=x[:1])


def design(motion, motion_deriv, wm, wm_deriv, ventricles, ventricles_deriv):
    x = np.hstack([motion, motion_deriv, wm, wm_deriv, ventricles, ventricles_deriv])
    return np.hstack([x, x**2])


def detrended(series, drop):
    y = scipy.signal.detrend(series[:, drop:], axis=1, type="constant")
    return scipy.signal.detrend(y, axis=1, type="linear").T


def clean(series, x, drop, dependent=False):
    y = detrended(series, drop)
    x = np.column_stack([np.ones(len(y)), x[drop:]])
    if dependent:
        norm = np.sqrt((x**2).sum(axis=0))
        x = x[:, norm > 0] / norm[norm > 0]
        return (y - x @ scipy.linalg.lstsq(x, y, cond=1e-10)[0]).T
    return (y - x @ (np.linalg.pinv(x.T @ x) @ (x.T @ y))).T


def short(x, digits):
    return [float(f"{v:.{digits}g}") for v in np.asarray(x).ravel()]


def main():
    rng = np.random.default_rng(5)
    walk = lambda k: np.cumsum(rng.normal(size=(FRAMES, k)), axis=0)
    unit = lambda x: x / np.sqrt((x**2).sum(axis=0))
    motion = np.round(0.05 * walk(6) + 0.02 * rng.normal(size=(FRAMES, 6)), 5)
    motion_deriv = np.round(difference(motion) + 0.003 * rng.normal(size=(FRAMES, 6)), 5)  # HCP's own, not quite ours
    wm, ventricles = np.round(unit(walk(5)), 6), np.round(unit(walk(5)), 6)
    wm_deriv, ventricles_deriv = (np.round(1.1 * difference(v) + 0.004 * rng.normal(size=v.shape), 6) for v in (wm, ventricles))
    series = 9000 + 30 * rng.normal(size=(PARCELS, FRAMES)) + np.outer([1, -2, 0.5], np.arange(FRAMES))
    series = np.round(series + 90 * (motion @ rng.normal(size=(6, PARCELS))).T + 500 * (wm @ rng.normal(size=(5, PARCELS))).T, 3)

    full = design(motion, motion_deriv, wm, difference(wm), ventricles, difference(ventricles))
    six = design(motion, difference(motion), wm, difference(wm), ventricles, difference(ventricles))
    given = design(motion, motion_deriv, wm, wm_deriv, ventricles, ventricles_deriv)
    ventricles_copy = np.column_stack([ventricles[:, :4], wm[:, 0]])
    still = motion.copy()
    still[:, 2] = 0.25
    copied = design(motion, motion_deriv, wm, difference(wm), ventricles_copy, difference(ventricles_copy))
    fixed = design(still, motion_deriv, wm, difference(wm), ventricles, difference(ventricles))
    zscored = clean(series, full, 5)
    zscored = (zscored - zscored.mean(axis=1, keepdims=True)) / zscored.std(axis=1, keepdims=True)
    scaled = full[5:] / np.sqrt((full[5:] ** 2).sum(axis=0))
    print("condition with scaled columns", np.linalg.cond(np.column_stack([np.ones(FRAMES - 5), scaled])))
    out = {
        "parcels": PARCELS, "frames": FRAMES, "series": short(series, 12),
        "motion": short(np.hstack([motion, motion_deriv]), 12), "wm": short(wm, 12), "ventricles": short(ventricles, 12),
        "wm_deriv": short(wm_deriv, 12), "ventricles_deriv": short(ventricles_deriv, 12),
        "design_frames": [0, 1, 7], "design": short(full[[0, 1, 7]], 15),
        "residuals": {
            "published": short(clean(series, full, 5), 13),
            "drop 0": short(clean(series, full, 0), 13),
            "six motion columns": short(clean(series, six, 5), 13),
            "derivatives given": short(clean(series, given, 5), 13),
            "z-scored": short(zscored, 13),
            "component twice": short(clean(series, copied, 5, True), 13),
            "still head": short(clean(series, fixed, 5, True), 13),
        },
    }
    with open(os.path.join(HERE, "runs.json"), "w") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
