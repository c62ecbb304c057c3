#!/usr/bin/python3
"""Makes the .npy and .npz files of this folder and expected.json with numpy (1.24.2), the reference for both formats.

Run in this folder: /usr/bin/python3 make.py. The same numpy makes the same bytes, but for the times inside .npz files,
which are set to 1980. The values of expected.json are numpy.load(file).astype(float64) in row-major order.
"""

import io
import json
import zipfile

import numpy as np

expected = {}


def record(name, a, descr, member=None):
    """Notes what a reader must find in a file or in a member of it."""
    values = [float(v) for v in a.astype(np.float64).ravel(order="C")]
    values = [v if np.isfinite(v) else str(v) for v in values]
    entry = {"shape": list(a.shape), "dtype": descr, "values": values}
    if member is None:
        expected[name] = entry
    else:
        expected.setdefault(name, {"members": []})["members"].append(dict(entry, name=member))


def save(name, a, version=(1, 0)):
    with open(name, "wb") as f:
        np.lib.format.write_array(f, a, version=version)
    record(name, np.load(name), a.dtype.str)


def limits(dtype):
    """Returns 2 x 3 x 2 numbers with the ends of a type's range, of 64-bit integers those that a float64 holds."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0], dtype).reshape(2, 3, 2)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = max(info.min, -(2**53)), min(info.max, 2**53)
        return np.array([low, high, 0, 1, low + 1, high - 1, 2, 3, 5, 7, 11, 13], dtype).reshape(2, 3, 2)
    info = np.finfo(dtype)
    a = [0.0, -0.0, 1.0, -2.5, info.max, info.min, info.tiny, info.smallest_subnormal, np.nan, np.inf, -np.inf, 1 / 3]
    return np.array(a, dtype).reshape(2, 3, 2)


def archive(name, members, compression=zipfile.ZIP_STORED, raw=()):
    """Writes members as numpy.savez does, with raw files among them, at a fixed time."""
    with zipfile.ZipFile(name, "w", compression) as z:
        for member, data in raw:
            z.writestr(zipfile.ZipInfo(member), data, compression)
        for member, a in members.items():
            b = io.BytesIO()
            np.lib.format.write_array(b, a)
            info = zipfile.ZipInfo(member + ".npy")
            info.compress_type = compression
            with z.open(info, "w", force_zip64=True) as f:  # as numpy does
                f.write(b.getvalue())
            if a.dtype.kind in "biuf":
                record(name, a, a.dtype.str, member)
            else:
                expected.setdefault(name, {"members": []})["members"].append(
                    {"name": member, "shape": list(a.shape), "dtype": str(a.dtype.descr if a.dtype.names else a.dtype.str)})
    with np.load(name) as z:
        assert set(members) <= set(z.files)


for kind in ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]:
    for mark in "<>" if kind[1] != "1" else "|":
        for order in "CF":
            side = {"<": "le", ">": "be", "|": "one"}[mark]
            save(f"{kind}-{side}-{order}.npy", np.asarray(limits(kind).astype(mark + kind), order=order))

m = np.arange(12.0).reshape(3, 4)
save("v1.npy", m)
save("v2.npy", m, (2, 0))
save("v3.npy", m, (3, 0))
save("scalar.npy", np.array(2.5))
save("vector.npy", np.array([1.5, -2.5, 3.5]))
save("empty.npy", np.zeros((3, 0)))
save("five-F.npy", np.asfortranarray(np.arange(120.0).reshape(2, 3, 4, 1, 5)))
save("vector-f4.npy", np.array([0.1, -2.5, 3.25e38], np.float64).astype(np.float32))
save("half-all.npy", np.arange(0, 65536, 41, dtype=np.uint16).view(np.float16))
np.save("c16.npy", np.array([1 + 2j]))
np.save("c8.npy", np.array([1 + 2j], np.complex64))
np.save("object.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
np.save("text.npy", np.array(["L_V1", "R_V1"]))
np.save("bytes.npy", np.array([b"csr"]))
np.save("date.npy", np.array(["2020-01-01"], "M8[D]"))
np.save("longdouble.npy", np.array([1.0], np.longdouble))
np.save("raw.npy", np.zeros(2, "V2"))
np.save("records.npy", np.zeros(2, [("name", "U4"), ("x", "<f8", (2,))]))
np.save("big-i8.npy", np.array([[0, 1, 2], [3, 4, 2**53 + 1]]))
np.save("big-F-i8.npy", np.asfortranarray([[0, 1, -(2**60)], [3, 4, 5]]))
np.save("big-u8.npy", np.array([2**64 - 1], np.uint64))

# A subject's archive like cubnm's: Fortran order inside, labels among the numbers, names out of alphabetical order.
members = {
    "sim_bold": np.asfortranarray(np.arange(24.0).reshape(4, 6) / 8),
    "fc": np.array([[1, 0.25], [0.25, 1]], np.float32),
    "labels": np.array(["L_V1", "R_V1"]),
    "subject/run-1": np.array([1, 2, 3], np.int64),
    "rows": np.zeros(2, [("name", "U4"), ("x", "<f8")]),
}
numbers = {k: v for k, v in members.items() if v.dtype.kind in "iuf"}
archive("stored.npz", numbers)
archive("deflated.npz", numbers, zipfile.ZIP_DEFLATED, [("readme.txt", "no array")])
archive("mixed.npz", members)
archive("zeros.npz", {"z": np.zeros((200, 500))}, zipfile.ZIP_DEFLATED)
archive("bzip2.npz", {"a": m}, zipfile.ZIP_BZIP2)
del expected["zeros.npz"], expected["bzip2.npz"]  # all zeros, and long; not read
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = 100, 1  # so that it writes the records of a large archive
archive("zip64.npz", numbers)

with open("expected.json", "w") as f:
    json.dump(expected, f, indent=0)
    f.write("\n")
