"""Writes DIR/old.h5 and DIR/new.h5 with h5py, whose indices of links, and in the old format of chunks, are several levels deep. The
i-th element of a dataset is i; of the sparse one only elements whose number ends in 7 and is above 279990 or at 140007 were written.
Run: /usr/bin/python3 deep.py DIR"""
import os
import sys

import h5py
import numpy as np


def links(f):
    g = f.create_group("many")
    g["first"] = 1.0
    for i in range(20000):
        g[f"a{i}"] = g["first"]


with h5py.File(os.path.join(sys.argv[1], "new.h5"), "w", libver="latest") as f:
    links(f)
with h5py.File(os.path.join(sys.argv[1], "old.h5"), "w") as f:
    f.create_dataset("tree", data=np.arange(30000, dtype="i4").reshape(300, 100), chunks=(1, 1))
    f.create_dataset("tree-deflated", data=np.arange(20000, dtype="i4").reshape(200, 100), chunks=(1, 2), maxshape=(None, None), compression="gzip")
    d = f.create_dataset("tree-sparse", (280100,), "i4", chunks=(1,))
    for i in [140007, *range(279997, 280100, 10)]:
        d[i] = i
    links(f)
