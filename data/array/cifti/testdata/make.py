#!/usr/bin/python3
"""Writes the CIFTI-2 files of this folder with nibabel, and expected.json with what nibabel reads in them.

Run here: /usr/bin/python3 make.py   (nibabel 5.0, numpy 1.24). The means of the parcellations are computed here from
nibabel's axes and numpy's mean, vertex by vertex, with no code of the Go package.
"""
import gzip
import json
import struct
import warnings

import nibabel
import numpy as np
from nibabel import cifti2

warnings.filterwarnings("ignore")
rng = np.random.default_rng(20)
LEFT, RIGHT, THALAMUS = "CIFTI_STRUCTURE_CORTEX_LEFT", "CIFTI_STRUCTURE_CORTEX_RIGHT", "CIFTI_STRUCTURE_THALAMUS_LEFT"
VERTICES = {LEFT: 50, RIGHT: 48}
AFFINE = np.array([[-2.0, 0, 0, 90], [0, 2, 0, -126], [0, 0, 2, -72], [0, 0, 0, 1]])
SIZE = (9, 8, 7)


def surface(structure, vertices):
    return cifti2.BrainModelAxis.from_surface(np.array(vertices), VERTICES[structure], name=structure)


def voxels(ijk):
    mask = np.zeros(SIZE, bool)
    mask[tuple(np.array(ijk).T)] = True
    return cifti2.BrainModelAxis.from_mask(mask, name=THALAMUS, affine=AFFINE)


def model(*parts):
    axis = parts[0]
    for p in parts[1:]:
        axis = axis + p
    return axis


def parcels():
    axis = cifti2.ParcelsAxis.from_brain_models([
        ("R_V1_ROI", model(surface(RIGHT, [3, 4, 5]))),
        ("both <&> \u00e4", model(surface(LEFT, [1, 2]), surface(RIGHT, [0]))),
        ("thalamus", voxels([(1, 2, 3), (2, 2, 3)])),
        ("mixed", model(surface(LEFT, [30]), voxels([(0, 0, 0)]))),
    ])
    return axis


def save(name, data, axes, intent, dtype=np.float32, edit=None, scale=None):
    """Writes data, of nibabel's shape (axis 0, axis 1)."""
    header = cifti2.Cifti2Header.from_axes(axes)
    if edit:
        edit(header)
    image = cifti2.Cifti2Image(np.asarray(data), header)
    image.nifti_header.set_intent(intent, name=nibabel.nifti1.intent_codes.label[intent])
    image.nifti_header.set_data_dtype(dtype)
    if scale is None:
        image.to_filename(name)
    else:
        raw = np.round((np.asarray(data) - scale[1]) / scale[0]).astype(dtype)
        cifti2.Cifti2Image(raw, header, image.nifti_header).to_filename(name)
        with open(name, "r+b") as f:  # scl_slope and scl_inter; nibabel's CIFTI writer leaves them at 1 and 0
            f.seek(176)
            f.write(struct.pack("<dd", *scale))


def swapped(source, name):
    """Writes a big-endian copy of a float32 file."""
    raw = open(source, "rb").read()
    header = nibabel.Nifti2Header.from_fileobj(open(source, "rb"), check=False)
    offset = int(header["vox_offset"])
    out = bytearray(header.as_byteswapped(">").binaryblock) + raw[540:544]
    size, code = struct.unpack("<ii", raw[544:552])
    out += struct.pack(">ii", size, code) + raw[552:offset]
    out += np.frombuffer(raw[offset:], "<f4").astype(">f4").tobytes()
    open(name, "wb").write(out)


def milliseconds(header):
    m = header.matrix.get_index_map(0)
    m.series_exponent, m.series_start, m.series_step = -3, 1500.0, 720.0


def describe(axis):
    if isinstance(axis, cifti2.SeriesAxis):
        return {"kind": "SERIES", "start": axis.start, "step": axis.step, "unit": axis.unit, "size": axis.size}
    d = {"size": len(axis)}
    if isinstance(axis, cifti2.ScalarAxis):
        return d | {"kind": "SCALARS", "maps": [{"name": str(n), "metadata": dict(m)} for n, m in zip(axis.name, axis.meta)]}
    if isinstance(axis, cifti2.LabelAxis):
        return d | {"kind": "LABELS", "maps": [
            {"name": str(n), "metadata": dict(m), "labels": {str(k): {"name": v[0], "rgba": list(v[1])} for k, v in t.items()}}
            for n, m, t in zip(axis.name, axis.meta, axis.label)]}
    d["volume"] = None if axis.affine is None else {"size": list(axis.volume_shape), "affine": np.asarray(axis.affine).tolist()}
    if isinstance(axis, cifti2.ParcelsAxis):
        return d | {"kind": "PARCELS", "surfaces": {k: int(v) for k, v in axis.nvertices.items()}, "parcels": [
            {"name": str(n), "vertices": {k: v.tolist() for k, v in w.items()}, "voxels": x.tolist()}
            for n, x, w in axis]}
    models = []
    for structure, part, a in axis.iter_structures():
        is_surface = bool(a.surface_mask.all())
        models.append({"structure": structure, "offset": int(part.start or 0), "count": len(a),
                       "surface_vertices": int(axis.nvertices[structure]) if is_surface else 0,
                       "vertices": a.vertex.tolist() if is_surface else [], "voxels": [] if is_surface else a.voxel.tolist()})
    return d | {"kind": "BRAIN_MODELS", "models": models}


def grayordinates(axis):
    """Structure and vertex of each surface index, i, j, k of each voxel's."""
    return [(s, int(v)) if k == "CIFTI_MODEL_TYPE_SURFACE" else tuple(int(i) for i in v)
            for k, v, s in (axis[i] for i in range(len(axis)))]


def means(series, labels, column):
    """Means by label of nibabel images, in ascending order of the keys."""
    names = labels.header.get_axis(0).label[column]
    key = dict(zip(grayordinates(labels.header.get_axis(1)), labels.get_fdata()[column].astype(int)))
    here, data = grayordinates(series.header.get_axis(1)), series.get_fdata()
    used = sorted(set(key.values()) - {k for k, v in names.items() if v[0] == "???"} - {0})
    rows = {k: [i for i, g in enumerate(here) if key.get(g) == k] for k in used}
    return {"keys": [int(k) for k in used], "names": [names[k][0] for k in used],
            "values": [data[:, rows[k]].mean(axis=1).tolist() for k in used],
            "grayordinates": [len(rows[k]) for k in used],
            "uncovered": [sum(v == k for v in key.values()) - len(rows[k]) for k in used]}


def text(x):
    """JSON has no NaN and no infinities; those are strings."""
    return [text(y) for y in x] if isinstance(x, list) else x if np.isfinite(x) else str(x)


def main():
    P, T = 4, 6
    series = cifti2.SeriesAxis(0, 0.72, T)
    pdata = rng.normal(size=(T, P)).astype("f4")
    save("x.ptseries.nii", pdata, (series, parcels()), 3004)
    swapped("x.ptseries.nii", "big.ptseries.nii")
    save("double.ptseries.nii", rng.normal(size=(T, P)), (series, parcels()), 3004, np.float64)
    save("scaled.ptseries.nii", 30 * pdata + 100, (series, parcels()), 3004, np.int16, scale=(0.005, 90.5))
    save("exponent.ptseries.nii", pdata, (series, parcels()), 3004, edit=milliseconds)
    save("x.pconn.nii", np.corrcoef(pdata.T).astype("f4"), (parcels(), parcels()), 3003)
    save("x.pscalar.nii", pdata[:2], (cifti2.ScalarAxis(["thick", "myelin"], [{"unit": "mm"}, {}]), parcels()), 3008)
    table = {0: ("???", (1, 1, 1, 0)), 2: ("VIS", (0, 0, 1, 1)), 7: ("SMN & more", (0.5, 1, 0.25, 1))}
    save("x.plabel.nii", [[2, 7, 0, 2]], (cifti2.LabelAxis(["networks"], [table]), parcels()), 3000)

    left, right = sorted(rng.choice(50, 30, replace=False)), sorted(rng.choice(48, 28, replace=False))
    more = sorted(set(left) | {0, 1, 2})
    vox = [(1, 2, 3), (2, 2, 3), (3, 1, 0), (8, 7, 6)]
    lr = model(surface(LEFT, left), surface(RIGHT, right), voxels(vox))
    rl = model(surface(RIGHT, right), voxels(vox[1:]), surface(LEFT, more))
    save("lr.dtseries.nii", rng.normal(size=(5, len(lr))), (cifti2.SeriesAxis(0, 0.72, 5), lr), 3002)
    bad = rng.normal(size=(5, len(rl)))
    bad[3, 2] = np.nan
    bad[1, 40] = np.inf
    save("rl.dtseries.nii", bad, (cifti2.SeriesAxis(2, 1.5, 5), rl), 3002)
    save("x.dscalar.nii", rng.normal(size=(2, len(lr))), (cifti2.ScalarAxis(["a", "b"]), lr), 3006)
    small = model(surface(LEFT, [3, 9]), surface(RIGHT, [1]), voxels(vox[:1]))
    save("x.dconn.nii", rng.normal(size=(4, 4)), (small, small), 3001)

    # The label files name right-hemisphere keys first, as Glasser's do, and "???" has another key in the second map.
    areas = {0: ("???", (1, 1, 1, 0)), 12: ("thalamus", (1, 0, 0, 1)), 1: ("R_V1_ROI", (0, 0, 1, 1)), 2: ("R_MT_ROI", (0, 0.5, 1, 1)),
             181: ("L_V1_ROI", (1, 1, 0, 1)), 182: ("L_MT_ROI", (1, 0, 1, 1)), 300: ("nobody", (0, 0, 0, 1))}
    networks = {0: ("zero", (1, 0, 0, 1)), 3: ("???", (1, 1, 1, 0)), -4: ("minus", (0, 1, 0, 1)), 5: ("five", (0, 0, 1, 1))}
    for name, axis in (
            ("rl.dlabel.nii", model(surface(RIGHT, right[::-1]), surface(LEFT, range(50)), voxels(vox))),
            ("lr.dlabel.nii", model(surface(LEFT, left), surface(RIGHT, range(48)), voxels(vox)))):
        keys = []
        for i, (k, v, s) in enumerate(axis[i] for i in range(len(axis))):
            keys.append({LEFT: [0, 181, 182], RIGHT: [2, 1, 0]}[s][i % 3] if k == "CIFTI_MODEL_TYPE_SURFACE" else 12)
        second = [[3, -4, 5][i % 3] for i in range(len(axis))]
        save(name, [keys, second], (cifti2.LabelAxis(["areas", "networks"], [areas, networks]), axis), 3007)

    with open("x.ptseries.nii", "rb") as f, open("z.ptseries.nii.gz", "wb") as out:
        with gzip.GzipFile("", "wb", 9, out, 0) as z:
            z.write(f.read())

    expected = {"files": {}, "parcellations": []}
    for name in ["x.ptseries.nii", "big.ptseries.nii", "double.ptseries.nii", "scaled.ptseries.nii", "exponent.ptseries.nii",
                 "z.ptseries.nii.gz", "x.pconn.nii", "x.pscalar.nii", "x.plabel.nii", "lr.dtseries.nii", "rl.dtseries.nii", "x.dscalar.nii",
                 "x.dconn.nii", "rl.dlabel.nii", "lr.dlabel.nii"]:
        if name.endswith(".gz"):
            with gzip.open(name) as f:
                image = cifti2.Cifti2Image.from_bytes(f.read())
        else:
            image = nibabel.load(name)
        assert isinstance(image, cifti2.Cifti2Image), name
        h = image.nifti_header
        expected["files"][name] = {
            "intent": int(h["intent_code"]), "intent_name": h["intent_name"].item().decode(), "dtype": str(image.get_data_dtype().newbyteorder("=")),
            "axes": [describe(image.header.get_axis(i)) for i in (0, 1)],
            "data": text(image.get_fdata().T.tolist())}
    for series, labels in (("lr", "lr"), ("lr", "rl"), ("rl", "lr"), ("rl", "rl")):
        for column, name in enumerate(("areas", "networks")):
            m = means(nibabel.load(series + ".dtseries.nii"), nibabel.load(labels + ".dlabel.nii"), column)
            m["values"] = text(m["values"])
            expected["parcellations"].append({"series": series + ".dtseries.nii", "labels": labels + ".dlabel.nii", "map": name} | m)
    with open("expected.json", "w") as f:
        json.dump(expected, f, separators=(",", ":"), default=int)
        f.write("\n")


main()
