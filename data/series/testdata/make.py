"""Writes one small series in every format that package series reads, with nibabel, h5py, scipy and numpy. Its value at frame f of
token p is 10 * p + f + f * f / 8. Run: /usr/bin/python3 make.py"""
import os

import h5py
import nibabel as nib
import numpy as np
import scipy.io
import scipy.sparse

os.chdir(os.path.dirname(os.path.abspath(__file__)))
FRAMES, TOKENS = 7, 6
f, p = np.meshgrid(np.arange(FRAMES), np.arange(TOKENS), indexing="ij")
X = 10.0 * p + f + f * f / 8  # [frames, tokens]
NAMES = ["L_V1_ROI", "L_MST_ROI", "L_V6_ROI", "R_V1_ROI", "R_MST_ROI", "R_V6_ROI"]
VERTICES = 12  # of each hemisphere; parcel k of a hemisphere has vertices 4k to 4k+2


def brain_models():
    every = np.ones(VERTICES, bool)
    left = nib.cifti2.BrainModelAxis.from_mask(every, "CIFTI_STRUCTURE_CORTEX_LEFT")
    return left + nib.cifti2.BrainModelAxis.from_mask(every, "CIFTI_STRUCTURE_CORTEX_RIGHT")


def save(path, data, *axes):
    image = nib.Cifti2Image(data.astype("f4"), header=nib.Cifti2Header.from_axes(axes))
    image.to_filename(path)


series = nib.cifti2.SeriesAxis(0, 0.72, FRAMES)
sides = {"L": "CIFTI_STRUCTURE_CORTEX_LEFT", "R": "CIFTI_STRUCTURE_CORTEX_RIGHT"}
vertices = [{sides[name[0]]: np.arange(4 * (i % 3), 4 * (i % 3) + 3)} for i, name in enumerate(NAMES)]
parcels = nib.cifti2.ParcelsAxis(
    NAMES, [np.zeros((0, 3), int)] * TOKENS, vertices, np.eye(4), (2, 2, 2), {s: VERTICES for s in sides.values()}
)
save("sub-01.ptseries.nii", X, series, parcels)
order = [3, 4, 5, 0, 1, 2]  # right first
save("sub-02.ptseries.nii", X[:, order], series, parcels[np.array(order)])


def parcels_named(names, of):
    """Parcels with other names than their vertices, those of parcels[i] for i in of, would suggest."""
    return nib.cifti2.ParcelsAxis(names, [np.zeros((0, 3), int)] * TOKENS, [vertices[i] for i in of], np.eye(4), (2, 2, 2), {s: VERTICES for s in sides.values()})


anonymous = [f"P{i}" for i in range(TOKENS)]
save("anonymous-left.ptseries.nii", X, series, parcels_named(anonymous, range(TOKENS)))
save("anonymous-right.ptseries.nii", X[:, order], series, parcels_named(anonymous, order))
save("crossed.ptseries.nii", X, series, parcels_named(NAMES, order))

# Vertices of a parcel differ from its value by -1, 0 and 1; vertex 3 of each four is in no parcel.
labels, dense = np.zeros(2 * VERTICES), np.full((FRAMES, 2 * VERTICES), 1000.0)
networks = np.zeros(2 * VERTICES)
for i in range(TOKENS):
    first = (i // 3) * VERTICES + 4 * (i % 3)
    labels[first : first + 3] = i + 1
    networks[first : first + 3] = 1 + i % 2
    dense[:, first : first + 3] = X[:, i : i + 1] + np.array([-1, 0, 1])
table = {0: ("???", (0, 0, 0, 0))} | {i + 1: (name, (1, 0, 0, 1)) for i, name in enumerate(NAMES)}
save("dense.dtseries.nii", dense, series, brain_models())
save("parcels.dlabel.nii", labels[None], nib.cifti2.LabelAxis(["parcels"], [table]), brain_models())
halves = np.where(labels > 3, 2, np.minimum(labels, 1))
sides = {0: ("???", (0, 0, 0, 0)), 1: ("left", (1, 0, 0, 1)), 2: ("right", (0, 1, 0, 1))}
save("two-maps.dlabel.nii", np.stack([labels, halves]),
     nib.cifti2.LabelAxis(["parcels", "halves"], [table, sides]), brain_models())
table = {0: ("???", (0, 0, 0, 0))} | {i + 1: (name, (1, 0, 0, 1)) for i, name in enumerate(anonymous)}
keys = np.where(labels > 0, (labels + 2) % 6 + 1, 0)  # 4, 5, 6 on the left and 1, 2, 3 on the right
save("anonymous-right.dlabel.nii", keys[None], nib.cifti2.LabelAxis(["parcels"], [table]), brain_models())
table = {0: ("???", (0, 0, 0, 0)), 1: ("Visual", (1, 0, 0, 1)), 2: ("Motor", (0, 1, 0, 1))}
save("networks.dlabel.nii", networks[None], nib.cifti2.LabelAxis(["networks"], [table]), brain_models())

with h5py.File("100206.h5", "w") as h:
    h["REST1_LR/resid"] = X.T[:, :4]
    h["REST1_RL/resid"] = X.T[:, 4:]
    h["REST1_RL/betas"] = np.zeros((TOKENS, 3))
    h["note"] = "text"
with h5py.File("one.h5", "w") as h:
    h["restdata"] = X.T
with h5py.File("v73.mat", "w", userblock_size=512) as h:
    d = h.create_dataset("tc", data=X)  # MATLAB shows tokens x frames
    d.attrs["MATLAB_class"] = np.bytes_("double")
    d = h.create_dataset("label", data=np.array([[114], [101]], "u2"))
    d.attrs["MATLAB_class"] = np.bytes_("char")
with open("v73.mat", "r+b") as raw:
    raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
scipy.io.savemat("v5.mat", {"tc": X.T, "subject": "100206", "n": 3.0}, do_compression=True)
np.save("frames.npy", X)
np.save("fortran.npy", np.asfortranarray(X.T))
np.save("stack.npy", np.stack([X, X + 100]).transpose(0, 2, 1))  # subjects, tokens, frames
np.savez("two.npz", a=X, b=X[:3])
header = ",".join(NAMES)
np.savetxt("named.csv", X, delimiter=",", header=header, comments="")
np.savetxt("named.tsv", X, delimiter="\t", header=header.replace(",", "\t"), comments="")
np.savetxt("plain.csv", X.T, delimiter=",")
np.savetxt("blanks.txt", X)
np.savetxt("afni.1D", X, header="3dmaskave")
with open("rows.csv", "w") as out:
    out.write("".join(",".join([n, *(repr(v) for v in row)]) + "\n" for n, row in zip(NAMES, X.T.tolist())))
with open("names.txt", "w") as out:
    out.write("\n".join(NAMES) + "\n")

# The cortex of the left hemisphere alone.
left = nib.cifti2.BrainModelAxis.from_mask(np.ones(VERTICES, bool), "CIFTI_STRUCTURE_CORTEX_LEFT")
save("left.dtseries.nii", dense[:, :VERTICES], series, left)

# Subjects x conditions, as LEiDA's tc_aal; the second subject has fewer frames and nothing in the second condition.
cells = np.empty((3, 2), dtype=object)
for i in range(3):
    for j in range(2):
        cells[i, j] = (X + 100 * i + 1000 * j)[: FRAMES - 2 * (i == 1)].T
cells[1, 1] = np.zeros((0, 0))
scipy.io.savemat("cells.mat", {"tc_aal": cells}, do_compression=True)

# The same as MATLAB 7.3 has it: references to datasets below #refs#, every axis the other way round, an empty cell as the
# shape of it.
with h5py.File("cells73.mat", "w", userblock_size=512) as h:
    refs = h.create_group("#refs#")
    d = h.create_dataset("tc_aal", (2, 3), dtype=h5py.ref_dtype)
    d.attrs["MATLAB_class"] = np.bytes_("cell")
    for k, (i, j) in enumerate((i, j) for j in range(2) for i in range(3)):
        empty = cells[i, j].size == 0
        cell = refs.create_dataset("zyxwvu"[k], data=np.zeros(2, "u8") if empty else cells[i, j].T)
        cell.attrs["MATLAB_class"] = np.bytes_("double")
        if empty:
            cell.attrs["MATLAB_empty"] = np.uint8(1)
        d[j, i] = cell.ref
    d = h.create_dataset("names", (3, 1), dtype=h5py.ref_dtype)
    d.attrs["MATLAB_class"] = np.bytes_("cell")
    for i in range(3):
        cell = refs.create_dataset(f"n{i}", data=np.array([[115], [49 + i]], "u2"))
        cell.attrs["MATLAB_class"] = np.bytes_("char")
        d[i, 0] = cell.ref
    d = h.create_dataset("nothing", data=np.zeros(2, "u8"))
    d.attrs["MATLAB_class"], d.attrs["MATLAB_empty"] = np.bytes_("cell"), np.uint8(1)
with open("cells73.mat", "r+b") as raw:
    raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")

sparse = scipy.sparse.csr_matrix(X)
with h5py.File("sparse.h5ad", "w") as h:  # as anndata writes it
    for name in ["data", "indices", "indptr"]:
        h[f"X/{name}"] = getattr(sparse, name)
    h["obsm/X_pca"] = X[:, :2]
with h5py.File("frame.h5", "w") as h:  # as pandas writes a frame with a column of whole numbers
    h["df/block0_values"], h["df/block1_values"] = X[:, :5], X[:, 5:].astype(int)
    h["df"].attrs["pandas_type"], h["df"].attrs["nblocks"] = np.bytes_("frame"), 2
