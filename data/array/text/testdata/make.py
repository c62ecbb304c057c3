#!/usr/bin/python3
"""Makes the tables of this folder and expected.json with numpy (1.24.2) and Python's csv module.

Run in this folder: /usr/bin/python3 make.py. The values of expected.json are what numpy.loadtxt or numpy.genfromtxt reads
from the same file, the names what the csv module wrote.
"""

import csv
import json

import numpy as np

expected = {}
rng = np.random.default_rng(7)
m = rng.standard_normal((7, 5)) * 10.0 ** rng.integers(-8, 9, (7, 5))
m[2, 3] = np.nan
m[0, 0] = 0.1
names = ["V1", 'say "hi"', "a, b", "1", "Posterior-Mu"]
regions = ["L_V1", "R_V1", "L MST", "4", "L_V2,x", "n/a", "R_V6"]


def record(name, a, columns=None, rows=None):
    a = np.atleast_2d(a)
    values = [float(v) for v in a.ravel()]
    values = [v if np.isfinite(v) else str(v) for v in values]
    expected[name] = {"shape": list(a.shape), "values": values, "columns": columns, "rows": rows}


def savetxt(name, a, **how):
    """Writes with numpy.savetxt and notes what numpy.loadtxt reads back."""
    np.savetxt(name, a, **how)
    record(name, np.loadtxt(name, delimiter=how.get("delimiter"), ndmin=2))


def write_csv(name, a, columns=None, rows=None, corner="", **how):
    """Writes with the csv module and notes the same numbers."""
    with open(name, "w", newline="", encoding=how.pop("encoding", "utf-8")) as f:
        w = csv.writer(f, **how)
        if columns:
            w.writerow(([corner] if rows else []) + columns)
        for i, row in enumerate(a):
            w.writerow(([rows[i]] if rows else []) + [float(v) for v in row])
    record(name, a, columns, rows)


def write(name, text, a, columns=None, rows=None):
    with open(name, "wb") as f:
        f.write(text)
    record(name, a, columns, rows)


savetxt("plain.csv", m, delimiter=",")
savetxt("plain.txt", m)
savetxt("plain.tsv", m, delimiter="\t")
savetxt("tabs.txt", m, delimiter="\t", fmt="%.17g")
savetxt("wide.txt", m, fmt="%24.16e")  # leading blanks, as FSL aligns
savetxt("comment.txt", m, header="L_V1 R_V1\nsecond line", footer="end")  # numpy's headers are comments
savetxt("column.1D", m[:, :1])
savetxt("row.csv", m[:1], delimiter=",")
savetxt("whole.csv", np.arange(12).reshape(3, 4), delimiter=",", fmt="%d")  # counts, yet no header
savetxt("short.csv", m, delimiter=",", fmt="%.3g")

write_csv("names.csv", m, columns=names)
write_csv("both.csv", m, columns=names, rows=regions, corner="region")
write_csv("corner.csv", m, columns=names, rows=regions)
write_csv("numbered.csv", m, columns=["0", "1", "2", "3", "4"])  # pandas: to_csv(index=False)
write_csv("index.csv", m, columns=["0", "1", "2", "3", "4"], rows=[str(i) for i in range(7)])  # pandas: to_csv()
write_csv("rows.csv", m, rows=["r%d" % i for i in range(7)], lineterminator="\n")
write_csv("both.tsv", m, columns=names, rows=regions, corner="region", delimiter="\t")
write_csv("both.txt", m, columns=["L V1", "b", "c", "d", "e"], rows=regions, corner="region", delimiter="\t")
write_csv("semicolon.csv", m, columns=names, delimiter=";")
write_csv("quoted.csv", m, columns=names, quoting=csv.QUOTE_ALL)
write_csv("nonnumeric.csv", m, columns=["1", "2", "3", "4", "5"], rows=["1", "2", "3", "4", "5", "6", "7"],
          quoting=csv.QUOTE_NONNUMERIC)  # R: write.csv
write_csv("bom.csv", m, columns=["é", "ü", "c", "d", "e"], encoding="utf-8-sig")
expected["bom.csv"]["columns"][0] = "é"

# What no writer makes at once: all ways of a line to end, blanks, comments, and everything that means missing.
write("odd.csv", b"\xef\xbb\xbf# made by hand\r\n\r\n  a , b ,\"c\"\n1, NaN ,nan\r\n% more\r  , n/a,NA\r\r\n\"2.5\" ,-1e-3,+.5\n   \n-inf,Inf,1.",
      np.array([[1, np.nan, np.nan], [np.nan] * 3, [2.5, -1e-3, 0.5], [-np.inf, np.inf, 1]]), ["a", "b", "c"])
write("r.txt", b"x y\nsubject1 1 2.5\nsubject2 NA 1e3\n", np.array([[1, 2.5], [np.nan, 1e3]]), ["x", "y"], ["subject1", "subject2"])
# AFNI has two kinds of comments and no names.
write("afni.1D", b"# <matrix\n// comment\n 1.5 1.5 1.5 -2 -2\n0 1 2 3 4\n0 0 0 0 0\n", np.array([[1.5] * 3 + [-2] * 2, range(5), [0] * 5]))
write("counting.1D", b"0 1\n0.5 2.5\n", np.array([[0, 1], [0.5, 2.5]]))  # onsets of two runs, no header
# A TSV of confounds: the first row of a derivative is n/a.
write("confounds.tsv", b"csf\tframewise_displacement\n1.5\tn/a\n2.5\t0.125\n", np.array([[1.5, np.nan], [2.5, 0.125]]),
      ["csf", "framewise_displacement"])

for name in ["plain.csv", "names.csv", "semicolon.csv"]:  # a second reading by numpy of what others wrote
    how = {"delimiter": ";" if name == "semicolon.csv" else ","}
    if name != "plain.csv":
        how["skip_header"] = 1
    a = np.genfromtxt(name, **how)
    assert np.array_equal(a.ravel(), np.array(expected[name]["values"], float), equal_nan=True), name

with open("expected.json", "w") as f:
    json.dump(expected, f, indent=0)
    f.write("\n")
