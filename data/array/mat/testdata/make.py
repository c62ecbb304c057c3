#!/usr/bin/python3
"""Makes the .mat files of this folder and expected.json with scipy (1.10.1), and v73.mat with h5py (3.7).

Run in this folder: /usr/bin/python3 make.py. The values of expected.json are what scipy.io.loadmat reads back, in row-major
order. With files as arguments it prints what scipy reads of these, by their names, and with --scipy of the files that
scipy's own tests come with, which MATLAB wrote.
"""

import json
import os
import sys
import warnings

import numpy as np
import scipy.io
import scipy.sparse
from scipy.io.matlab import MatlabFunction, MatlabObject, MatlabOpaque

NUMBERS = {"double", "single", "logical"} | {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
WRITTEN = b"MATLAB 5.0 MAT-file, written by scipy for tests"


def values(a):
    a = np.asarray(a).astype(np.float64).ravel(order="C").tolist()
    return [v if np.isfinite(v) else str(v) for v in a]


def fields(name, a, found):
    """Notes the numbers in the fields of a single struct, and of those in it."""
    if isinstance(a, (MatlabObject, MatlabFunction, MatlabOpaque)) or a.dtype.names is None or a.size != 1:
        return
    for field in a.dtype.names:
        v, path = a.ravel()[0][field], name + "." + field
        if isinstance(v, np.ndarray) and v.dtype.kind in "biuf" and not isinstance(v, (MatlabFunction, MatlabOpaque)):
            found[path] = {"shape": list(v.shape), "values": values(v)}
        elif isinstance(v, np.ndarray):
            fields(path, v, found)


def describe(path):
    """Returns what scipy reads of a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            contents = scipy.io.loadmat(path)  # not mat_dtype=True, which drops imaginary parts
            listed = scipy.io.whosmat(path, chars_as_strings=False)
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}
    variables, found = [], {}
    for name, shape, kind in listed:
        if name.startswith("__"):
            continue
        a = contents[name]
        variable = {"name": name, "shape": list(shape), "class": kind}
        sparse = scipy.sparse.issparse(a)  # whosmat calls a sparse logical one logical
        number = a.data.dtype if sparse else np.asarray(a).dtype
        prefix = "complex " if number.kind == "c" else ""
        if sparse:
            variable["class"] = "sparse " + prefix + ("logical" if kind == "logical" or number.kind == "b" else "double")
            if not prefix:
                variable["values"] = values(a.toarray())
        elif kind in NUMBERS:
            variable["class"] = prefix + kind
            if not prefix:
                variable["values"] = values(a)
        elif kind == "function":
            variable["class"] = "function_handle"
        elif kind == "object":
            variable["class"] = a.classname
        elif kind == "struct":
            fields(name, a, found)
        variables.append(variable)
    return {"variables": variables, "fields": found}


def save(name, contents, **options):
    """Writes a file with a header that does not change with time and machine."""
    scipy.io.savemat(name, contents, long_field_names=True, **options)
    with open(name, "r+b") as f:
        f.write(WRITTEN.ljust(116))
    expected[name] = describe(name)


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


def make():
    m = np.arange(12.0).reshape(3, 4)
    struct = {"tr": 0.72, "bold": m, "run": {"mask": np.array([True, False]), "deep": {"er": {"x": m[:2]}}},
              "label": "V1", "cell": np.array(["a", 1.5], dtype=object), "last": np.float32([[1.5], [2.5]])}
    classes = {np.dtype(d).name + "_": limits(d)
               for d in ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]}
    shapes = {
        "scalar": np.float64(2.5), "row": np.array([[1.5, -2.5, 3.5]]), "column": np.array([[1.5], [-2.5], [3.5]]),
        "none": np.zeros((0, 0)), "rows": np.zeros((0, 3)), "layers": np.zeros((2, 0, 3), np.uint8),
        "five": np.arange(120, dtype=np.int16).reshape(2, 3, 4, 1, 5), "one_byte": np.uint8(7), "x": m,
        "four_bytes": np.uint8([1, 2, 3, 4]), "five_bytes": np.uint8([1, 2, 3, 4, 5]), "n" * 63: np.float32(1),
    }
    mixed = {
        "text": "hello", "tc": m, "z": np.array([[1 + 2j, 3]]), "sp": scipy.sparse.csc_matrix(m),
        "zsp": scipy.sparse.csc_matrix(m * 1j), "c": np.array([m, "a"], dtype=object), "s": struct,
        "runs": np.array([(1.0, 2.0), (3.0, 4.0)], [("a", object), ("b", object)]), "mask": np.array([[True, False]]),
        "none": {}, "sp_mask": scipy.sparse.csc_matrix(m > 3), "sp_zero": scipy.sparse.csc_matrix((3, 2)),
        "sp_none": scipy.sparse.csc_matrix((0, 0)),
    }
    for flavour, options in {"v6": {}, "v7": {"do_compression": True}}.items():
        save(f"classes-{flavour}.mat", classes, **options)
        save(f"shapes-{flavour}.mat", shapes, **options)
        save(f"mixed-{flavour}.mat", mixed, **options)
        save(f"nothing-{flavour}.mat", {}, **options)
        save(f"unread-{flavour}.mat", {"text": "hello", "s": {"a": 1.0}}, **options)
    big = {"small": np.int64([[1, 2]]), "i": np.array([[0, 1, 2], [3, 4, 2**53 + 1]]), "u": np.uint64([[2**64 - 1]])}
    save("big.mat", big)
    save("zeros.mat", {"z": np.zeros((200, 500))}, do_compression=True)
    del expected["zeros.mat"], expected["big.mat"]  # long; not read as a whole
    with open("expected.json", "w") as f:
        json.dump(expected, f, indent=None, separators=(",", ":"))
        f.write("\n")

    import h5py

    with h5py.File("v73.mat", "w", userblock_size=512) as f:
        f["x"] = m.T
        f["x"].attrs["MATLAB_class"] = np.bytes_("double")
    with h5py.File("objects73.mat", "w", userblock_size=512, track_order=False) as f:
        def put(name, value, kind, **attributes):
            d = f.create_dataset(name, data=value) if value is not None else f.create_group(name)
            d.attrs["MATLAB_class"] = np.bytes_(kind)
            for key, v in attributes.items():
                d.attrs["MATLAB_" + key] = v

        for name, kind in [("t", "table"), ("when", "datetime"), ("name", "string"), ("own", "MyClass")]:  # as MATLAB stores objects
            put(name, np.array([[0xDD000000, 2, 1, 1, 1, 1]], "u4"), kind, object_decode=np.int32(3))
        put("fn", None, "function_handle", object_decode=np.int32(1))
        f["fn"]["function"] = np.zeros((3, 2))
        z = scipy.sparse.csc_matrix(m * (m % 3 == 1))
        for name, s, kind in [("sp", z, "double"), ("sp_mask", z > 0, "logical"), ("zsp", z * 1j, "double")]:
            put(name, None, kind, sparse=np.uint64(3))
            f[name]["data"] = s.data.view([("real", "f8"), ("imag", "f8")]) if s.dtype.kind == "c" else s.data.astype("u1" if kind == "logical" else "f8")
            f[name]["ir"], f[name]["jc"] = s.indices.astype("u8"), s.indptr.astype("u8")
        put("sp_zero", None, "double", sparse=np.uint64(3))
        f["sp_zero"]["jc"] = np.zeros(3, "u8")
        put("sp_bad", None, "double", sparse=np.uint64(2))  # its rows end before
        f["sp_bad"]["data"], f["sp_bad"]["ir"], f["sp_bad"]["jc"] = z.data, z.indices.astype("u8"), z.indptr.astype("u8")
        put("sp_huge", None, "double", sparse=np.uint64(2**40))
        f["sp_huge"]["jc"] = np.zeros(3, "u8")
        put("none", np.array([0, 3], "u8"), "double", empty=np.uint8(1))
        put("s", None, "struct")
        put("s/a", m.T, "double")
        f["s/again"] = f["s"]
    for name in ["v73.mat", "objects73.mat"]:
        with open(name, "r+b") as f:
            f.write(b"MATLAB 7.3 MAT-file, written by h5py for tests".ljust(116) + bytes(8) + b"\x00\x02IM")


expected = {}
if len(sys.argv) == 1:
    make()
else:
    paths = sys.argv[1:]
    if paths == ["--scipy"]:
        folder = os.path.join(os.path.dirname(scipy.io.matlab.__file__), "tests", "data")
        paths = sorted(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".mat"))
    json.dump({path: describe(path) for path in paths}, sys.stdout)
