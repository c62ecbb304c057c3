"""Writes the HDF5 files that the tests read, and expected.json with what h5py (3.7) reads of them: each dataset's shape, dtype and
numbers, row-major, those of complex numbers real and imaginary in turn; or that it is refused. Run: /usr/bin/python3 make.py"""
import json
import os

import h5py
import numpy as np

expected = {}
here = os.path.dirname(os.path.abspath(__file__))


def ramp(shape, dtype="f8"):
    dtype = np.dtype(dtype)
    i = np.arange(int(np.prod(shape)))
    return ((i / 2 - 3) if dtype.kind == "f" else i).astype(dtype).reshape(shape)


def types(f):
    for dtype in ["f8", "f4", "f2", ">f8", ">f4", ">f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u8"]:
        f.create_dataset("types/" + dtype.replace(">", "big-"), data=ramp((2, 3), dtype))
    f.create_dataset("types/bool", data=np.array([True, False, True]))
    f.create_dataset("types/negative", data=np.array([-1, -128, 127], "i1"))
    f.create_dataset("types/special", data=np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324], "f8"))
    f.create_dataset("types/special2", data=np.array([np.nan, np.inf, -np.inf, -0.0, 6e-8, 65504], "f2"))
    f.create_dataset("types/large", data=np.array([2**53, 2**53 + 1], "i8"))
    f.create_dataset("types/complex", data=np.array([[1 + 2j, -3 - 4j, 0.5j]], "c16"))
    f.create_dataset("types/complex8", data=np.array([1 + 2j, -3 - 4j], "c8"))
    f.create_dataset("types/text", data=np.bytes_(b"resting"))
    f.create_dataset("types/texts", data=["a", "b"], dtype=h5py.string_dtype())
    f.create_dataset("types/record", data=np.zeros(2, [("a", "f8"), ("b", "i4"), ("c", "f4")]))
    f["named"] = np.dtype("f4")
    f.create_dataset("types/named", (2, 3), dtype=f["named"])[...] = ramp((2, 3), "f4")
    d = f.create_dataset("types/attributes", data=ramp((2, 3)))
    d.attrs.create("MATLAB_class", np.bytes_("double"))
    d.attrs["number"] = 3.0


def layouts(f):
    f.create_dataset("contiguous", data=ramp((5, 7)))
    f.create_dataset("scalar", data=2.5)
    f.create_dataset("empty", (0, 3), "f8")
    f.create_dataset("null", data=h5py.Empty("f8"))
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(f.id, b"compact", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((5, 7)), dcpl)
    f["compact"][...] = ramp((5, 7))
    f.create_dataset("chunked", data=ramp((5, 7)), chunks=(2, 3))
    f.create_dataset("chunked1", data=ramp((40,), "i4"), chunks=(7,))
    f.create_dataset("chunked3", data=ramp((4, 5, 6), "i2"), chunks=(3, 2, 4), compression="gzip")
    f.create_dataset("one-chunk", data=ramp((5, 7)), chunks=(5, 7))
    f.create_dataset("one-chunk-deflated", data=ramp((5, 7)), chunks=(5, 7), compression="gzip")
    f.create_dataset("deflated", data=ramp((5, 7)), chunks=(2, 3), compression="gzip", compression_opts=9)
    f.create_dataset("shuffled", data=ramp((5, 7)), chunks=(2, 3), compression="gzip", shuffle=True, fletcher32=True)
    f.create_dataset("checked", data=ramp((5, 7), "f4"), chunks=(3, 3), fletcher32=True)
    f.create_dataset("zeros", data=np.zeros((16, 16)), chunks=(16, 16), fletcher32=True)
    f.create_dataset("growing", data=ramp((20, 3)), chunks=(2, 3), maxshape=(None, 3))
    f.create_dataset("growing2", data=ramp((4, 9), "i4"), chunks=(2, 2), maxshape=(8, None), compression="gzip")
    f.create_dataset("growing-both", data=ramp((9, 9), "i4"), chunks=(2, 2), maxshape=(None, None))
    f.create_dataset("growing-both-deflated", data=ramp((9, 9), "i4"), chunks=(2, 2), maxshape=(None, None), compression="gzip")
    f.create_dataset("limited", data=ramp((9, 9), "i4"), chunks=(2, 2), maxshape=(11, 30))
    d = f.create_dataset("sparse", (6, 6), "f8", chunks=(2, 2), fillvalue=7.5)
    d[2:4, 2:4] = ramp((2, 2))
    f.create_dataset("never-chunked", (4, 4), "i4", chunks=(2, 2), fillvalue=-9)
    d = f.create_dataset("shrunk", data=ramp((8, 8), "i4"), chunks=(3, 3), maxshape=(None, 8))
    d.resize((4, 8))
    d = f.create_dataset("large", (64, 40), "i4", chunks=(1, 1), maxshape=(64, None))
    d[60:, 38:] = ramp((4, 2), "i4")
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_chunk((2, 3))
    dcpl.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    h5py.h5d.create(f.id, b"implicit", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((5, 7)), dcpl)
    f["implicit"][...] = ramp((5, 7))


def packed(f):
    mixed = np.random.default_rng(1).integers(0, 9, (25, 20)) * 1.25
    f.create_dataset("lzf", data=mixed, chunks=(20, 17), compression="lzf")
    f.create_dataset("lzf-shuffled", data=mixed, chunks=(20, 17), compression="lzf", shuffle=True, fletcher32=True)
    f.create_dataset("lzf-random", data=np.random.default_rng(2).random((4, 5)), chunks=(2, 5), compression="lzf")
    f.create_dataset("lzf-zeros", data=np.zeros((40, 40)), chunks=(40, 40), compression="lzf")
    v = np.array([-5, 1, 100, -1000, 2047, -2048, 7])
    for name, base, bits, shift, values in [("i2", "STD_I16LE", 12, 0, v), ("big-i2", "STD_I16BE", 12, 0, v), ("shifted", "STD_I32LE", 12, 7, v),
                                            ("u2", "STD_U16LE", 11, 3, abs(v) % 2048), ("full", "STD_I16LE", 16, 0, v), ("i8", "STD_I64BE", 40, 0, v * 10**6)]:
        t = getattr(h5py.h5t, base).copy()
        t.set_precision(bits)
        t.set_offset(shift)
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_chunk((5,))
        h5py.h5d.create(f.id, b"bits-" + name.encode(), t, h5py.h5s.create_simple(v.shape), dcpl)
        f["bits-" + name][...] = values
    f.create_dataset("fill-never-written", (4, 4), "f8", fillvalue=7.5)


def links(f, many):
    f.create_dataset("rfMRI_REST1_RL/nuisanceReg_resid", data=ramp((2, 3)))
    f["soft"] = h5py.SoftLink("/rfMRI_REST1_RL/nuisanceReg_resid")
    f["rfMRI_REST1_RL/beside"] = h5py.SoftLink("nuisanceReg_resid")
    f["loop"] = h5py.SoftLink("/loop")
    f["dangling"] = h5py.SoftLink("/nowhere")
    f["external"] = h5py.ExternalLink("other.h5", "/x")
    f["rfMRI_REST1_RL/up"] = f["/"]
    f["hard"] = f["rfMRI_REST1_RL/nuisanceReg_resid"]
    g = f.create_group("many")
    g["first"] = np.float32(1)
    for i in range(many):
        g[f"r{i:03d}_" + "x" * (i % 7)] = g["first"]


def unreadable(f):
    f.create_dataset("never-written", (4, 4), "f8")
    f.create_dataset("record", (2,), [("a", "f8"), ("ok", bool), ("s", "S3"), ("m", "f4", (2, 3)), ("list", h5py.vlen_dtype("i4")),
                                      ("text", h5py.string_dtype()), ("to", h5py.ref_dtype), ("raw", "V5"), ("z", "c16"), ("last", "i2")])
    f.create_dataset("beside", data=ramp((2, 3)))
    f["link"] = h5py.ExternalLink("other.h5", "/x")
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[...] = h5py.VirtualSource("other.h5", "x", (2, 3))
    f.create_virtual_dataset("virtual", layout)
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_external(b"other.raw", 0, 48)
    h5py.h5d.create(f.id, b"external", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((6,)), dcpl)
    f.create_dataset("scaled", data=ramp((5, 7), "i4"), chunks=(2, 3), scaleoffset=0)
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_chunk((5,))
    dcpl.set_filter(h5py.h5z.FILTER_NBIT, 0, ())
    h5py.h5d.create(f.id, b"nbit", h5py.h5t.STD_I16LE, h5py.h5s.create_simple((7,)), dcpl)


def conventions(f):
    for at, value in [("scale_factor", 0.5), ("add_offset", -2)]:
        f.create_dataset(at, data=ramp((2, 3), "i2")).attrs[at] = value
    d = f.create_dataset("neutral", data=ramp((2, 3), "i2"))
    d.attrs["scale_factor"], d.attrs["add_offset"] = np.float32(1), 0
    f.create_dataset("_FillValue", data=np.array([1, -9999, 3], "f4")).attrs["_FillValue"] = np.array([-9999], "f4")
    f.create_dataset("missing_value", data=np.array([1, 2, 2**40])).attrs["missing_value"] = np.int64(2**40)
    for at, key in [("many_FillValue", "_FillValue"), ("many_scale_factor", "scale_factor")]:
        d = f.create_dataset(at, data=np.array([1, 9.96921e36, 3], "f4"))
        for i in range(20):
            d.attrs[f"note{i}"] = np.bytes_("text")
        d.attrs[key] = np.float32(9.96921e36)


    f.create_dataset("double", data=np.array([1, 1e20, 3], "f4")).attrs["missing_value"] = 1e20
    f.create_dataset("several", data=ramp((6,), "i2")).attrs["missing_value"] = np.array([4, 1], "i2")
    f.create_dataset("rounded", data=ramp((3,), "i8")).attrs["_FillValue"] = np.int64(-(2**63) + 2)
    f.create_dataset("text_FillValue", data=ramp((3,), "f4")).attrs["_FillValue"] = np.bytes_("none")
    f.create_dataset("text_scale", data=ramp((3,), "f4")).attrs["scale_factor"] = "0.1"
    f.create_dataset("unsigned", data=np.array([-1, 2], "i1")).attrs["_Unsigned"] = np.bytes_("true")
    f.create_dataset("signed", data=np.array([255, 2], "u1")).attrs["_Unsigned"] = np.bytes_("false")
    f.create_dataset("in_range", data=np.arange(3, dtype="f4")).attrs["valid_range"] = np.array([0, 2], "f4")
    f.create_dataset("beyond", data=np.arange(3, dtype="f4")).attrs["valid_range"] = np.array([0, 1.5], "f4")
    f.create_dataset("below", data=np.arange(3, dtype="f4")).attrs["valid_min"] = np.float32(0.5)
    f.create_dataset("above", data=np.arange(3, dtype="f4")).attrs["valid_max"] = np.float32(1.5)
    f.create_dataset("text_unsigned", data=np.array([-1, 2], "i1")).attrs["_Unsigned"] = "true"
    f.create_dataset("as_is", data=np.array([-1, 2], "i1")).attrs["_Unsigned"] = np.bytes_("false")


def write(name, fill, **options):
    path = os.path.join(here, name)
    if os.path.exists(path):
        os.remove(path)
    with h5py.File(path, "w", **options) as f:
        fill(f)
    if name.startswith(("unreadable", "conventions")):
        return
    with h5py.File(path) as f:
        f.visititems(lambda at, d: note(name, "/" + at, d))


def note(name, at, d):
    if isinstance(d, h5py.Dataset):
        entry = {"shape": list(d.shape or [0] * (d.shape is None)), "dtype": d.dtype.str}
        if d.chunks not in [None, d.shape] and "-new" in name:  # with an index as HDF5 1.10 has it
            entry["refused"] = True
        elif d.dtype.kind in "biufc" and d.shape is not None:
            values = np.asarray(d[()])
            values = (np.stack([values.real, values.imag], -1) if d.dtype.kind == "c" else values).ravel()
            entry["values"] = [v if isinstance(v, (int, bool)) or np.isfinite(v) else str(v) for v in values.tolist()]
        expected.setdefault(name, {})[at] = entry


for name, libver in [("old", "earliest"), ("new", "latest")]:
    write(f"types-{name}.h5", types, libver=libver, track_order=False)
    write(f"layouts-{name}.h5", layouts, libver=libver)
    write(f"unreadable-{name}.h5", unreadable, libver=libver)
    write(f"packed-{name}.h5", packed, libver=libver)
    write(f"conventions-{name}.h5", conventions, libver=libver)
write("layouts-v108.h5", layouts, libver=("v108", "latest"))
write("links-old.h5", lambda f: links(f, 60), libver="earliest")
write("links-new.h5", lambda f: links(f, 60), libver="latest")
write("links-tracked.h5", lambda f: links(f, 20), libver="latest", track_order=True)
write("userblock.h5", lambda f: f.create_dataset("x", data=ramp((5, 7)), chunks=(2, 3), compression="gzip"), userblock_size=1024)
write("userblock-new.h5", lambda f: f.create_dataset("x", data=ramp((5, 7)), chunks=(5, 7), compression="gzip"), userblock_size=512, libver="latest")
with open(os.path.join(here, "expected.json"), "w") as out:
    json.dump(expected, out, separators=(",", ":"), sort_keys=True)
    out.write("\n")
