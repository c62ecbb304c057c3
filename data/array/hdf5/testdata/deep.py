"""Writes DIR/old.h5 and DIR/new.h5 with h5py, whose indices of chunks and links are several levels deep. The i-th element of a
dataset is i; of those named sparse only elements whose number ends in 7 and is above 279990 or at 140007 were written.
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


def sparse(f, name, size, **options):
    d = f.create_dataset(name, (size,), "i4", chunks=(1,), **options)
    for i in [140007, *range(279997, size, 10)]:
        if i < size:
            d[i] = i


with h5py.File(os.path.join(sys.argv[1], "new.h5"), "w", libver="latest") as f:
    f.create_dataset("extensible", data=np.arange(300000, dtype="i4"), chunks=(1,), maxshape=(None,))
    f.create_dataset("extensible-deflated", data=np.arange(20000, dtype="i4"), chunks=(1,), maxshape=(None,), compression="gzip")
    sparse(f, "extensible-sparse", 280100, maxshape=(None,))
    f.create_dataset("fixed", data=np.arange(5000, dtype="i4"), chunks=(1,))
    sparse(f, "fixed-sparse", 280100)
    f.create_dataset("tree", data=np.arange(20000, dtype="i4").reshape(200, 100), chunks=(1, 1), maxshape=(None, None))
    f.create_dataset("tree-deflated", data=np.arange(20000, dtype="i4").reshape(200, 100), chunks=(1, 2), maxshape=(None, None), compression="gzip")
    links(f)
with h5py.File(os.path.join(sys.argv[1], "old.h5"), "w") as f:
    f.create_dataset("tree", data=np.arange(30000, dtype="i4").reshape(300, 100), chunks=(1, 1))
    links(f)
