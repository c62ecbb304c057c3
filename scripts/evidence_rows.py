"""Keeps results/evidence/puzzles.csv: a row for each finished model of Latin-square puzzles.

    /usr/bin/python3 scripts/evidence_rows.py PUZZLES.csv OUT.csv RUNS_DIR...

It adds a row for each run, or replaces the row of the same settings and seed; the accuracies of a row with
answers that it replaces must be the same. A row has the settings and final numbers of result.json; for learned
tables the motion of the PE; the answers to each validation and IID puzzle, a digit 0 to 3 each, 9 for
none, in the order of the files; and for tables that are added to the input of a block, the ratio of the
root mean squares of table and tokens at that block's input, over all validation puzzles. The ratio comes
from a forward pass in numpy, whose answers must equal those that the run kept.
"""

import csv
import json
import math
import os
import sys

import numpy as np
from scipy.special import erf

from run_numbers import measures

# Two models with the same settings differ only in the seed.
SETTINGS = ["pe", "sigma", "placement", "pe_tables", "embed_init_scale", "read_out", "dropout", "fixed_pe_dropout",
            "pe_lr", "take", "optimizer", "lr", "weight_decay", "heads", "d_model", "precision", "until"]
COLUMNS = SETTINGS + ["seed", "epochs", "fitted", "train", "iid", "validation", "validation_1_line",
                      "validation_2_lines", "validation_3_lines", "noise_0.1", "moved", "gradient_share",
                      "disparity", "cosine", "ratio_block_1", "ratio_block_2", "ratio_block_3", "ratio_block_4",
                      "answers_validation", "answers_iid"]
DTYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64}


def tensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], DTYPES[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def norm(x, weight, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight + bias


def forward(w, config, grids):
    """Returns the answers [B] and the ratios of table and tokens by block, of one head and no mask."""
    symbols = w["w/embed.weight"].shape[1]
    one_hot = np.eye(symbols + 1)[grids][..., 1:]
    x = one_hot @ w["w/embed.weight"].T + w["w/embed.bias"]
    d, ratios = config["d_model"], []
    table, shared = w["w/pe.table"], config["pe_options"].get("pe-tables") == "shared"
    for i in range(config["layers"]):
        b = "w/block%d." % i
        added = table[0] if shared else table[i] if i < len(table) else None
        if added is not None:
            ratios.append(math.sqrt((added ** 2).mean() / (x ** 2).mean()))
            x = x + added
        q, k, v = np.split(x @ w[b + "attn.in.weight"].T + w[b + "attn.in.bias"], 3, axis=-1)
        logits = q @ k.transpose(0, 2, 1) / math.sqrt(d)
        logits = np.exp(logits - logits.max(-1, keepdims=True))
        y = logits / logits.sum(-1, keepdims=True) @ v
        y = y @ w[b + "attn.out.weight"].T + w[b + "attn.out.bias"]
        x = norm(x + y, w[b + "norm1.weight"], w[b + "norm1.bias"])
        y = gelu(x @ w[b + "mlp.in.weight"].T + w[b + "mlp.in.bias"])
        y = gelu(y @ w[b + "mlp.out.weight"].T + w[b + "mlp.out.bias"])
        x = norm(x + y, w[b + "norm2.weight"], w[b + "norm2.bias"])
    at = np.full(len(x), -1) if config["read_out"] == "last" else (grids == symbols).argmax(1)
    return (x[np.arange(len(x)), at] @ w["w/head.weight"].T + w["w/head.bias"]).argmax(-1), ratios


def digits(answers):
    return "".join(str(a) if 0 <= a <= 3 else "9" for a in answers)


def over_blocks(numbers, family):
    """Returns the mean of a family of numbers over blocks; None where there are none."""
    values = [v for _, v in sorted((int(k.rpartition("/")[2]), v) for k, v in numbers.items() if k.startswith(family + "/"))]
    return sum(values) / len(values) if values else None


def row(directory, grids):
    with open(os.path.join(directory, "config.json")) as f:
        config = json.load(f)
    with open(os.path.join(directory, "result.json")) as f:
        result = json.load(f)
    with open(os.path.join(directory, "environment.json")) as f:
        precision = json.load(f).get("precision")
    member, m = config["members"][0], result["members"][0]
    if len(config["members"]) != 1 or m["status"] != "done":
        raise SystemExit("%s: want one member that is done" % directory)
    probes = tensors(os.path.join(directory, "probes.safetensors"))
    kept = probes["prediction/validation"][0]
    numbers = measures(m)
    fit = m.get("fit") or {}
    options = config.get("pe_options") or {}
    out = {"pe": config["pe"], "sigma": member["sigma"], "placement": options.get("pe-placement"),
           "pe_tables": options.get("pe-tables"), "embed_init_scale": config.get("embed_init_scale"),
           "read_out": config["read_out"], "dropout": config["dropout"],
           "fixed_pe_dropout": options.get("fixed-pe-dropout"), "pe_lr": member.get("pe_lr"),
           "take": (config.get("from") or {}).get("take"),
           "optimizer": config["optimizer"], "lr": member["lr"], "weight_decay": member["weight_decay"],
           "heads": config["heads"], "d_model": config["d_model"], "until": config.get("until"),
           "precision": precision if precision != "fp32" else None,
           "seed": member["seed"], "epochs": m["epochs"], "fitted": fit["epoch"] if fit.get("reached") else "no",
           "train": numbers["train"], "iid": numbers["iid"], "validation": numbers["validation"],
           "noise_0.1": numbers.get("noise/0.1"), "moved": over_blocks(numbers, "pe_moved"),
           "gradient_share": numbers.get("pe_gradient_share"), "disparity": over_blocks(numbers, "pe_disparity"),
           "cosine": over_blocks(numbers, "pe_cosine"),
           "answers_validation": digits(kept), "answers_iid": digits(probes["prediction/iid"][0])}
    for n in "123":
        out["validation_%s_line%s" % (n, "" if n == "1" else "s")] = numbers.get("validation_lines/" + n)
    if config["pe"] in ("learn", "random", "1d-fixed", "2d-fixed") and config["heads"] == 1:
        w = {k: v[0].astype(float) for k, v in tensors(os.path.join(directory, "checkpoint.safetensors")).items()
             if k.startswith("w/")}
        if "w/pe.table" not in w:
            return out
        answers, ratios = forward(w, config, grids)
        if config["pe"] == "learn" and (answers != kept).sum() > 1:  # rounding may turn one
            raise SystemExit("%s: %d answers differ from those it kept" % (directory, (answers != kept).sum()))
        out.update({"ratio_block_%d" % (i + 1): r for i, r in enumerate(ratios)})
    return out


def key(r):
    return tuple(r.get(name) or "" for name in SETTINGS + ["seed"])


def main():
    puzzles, target, roots = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(puzzles) as f:
        grids = np.array([[int(c) for c in r["puzzles"]] for r in csv.DictReader(f)])
    rows = {}
    if os.path.exists(target):
        with open(target) as f:
            rows = {key(r): r for r in csv.DictReader(f)}
    before = len(rows)
    for root in roots:
        for name in sorted(os.listdir(root)):
            if not os.path.exists(os.path.join(root, name, "result.json")):
                continue
            r = {c: "" if v is None else str(v) for c, v in row(os.path.join(root, name), grids).items()}
            r = {c: r.get(c, "") for c in COLUMNS}
            old = rows.get(key(r), r)
            for c in ("epochs", "train", "iid", "validation"):
                if old["answers_validation"] and old[c] != r[c]:
                    raise SystemExit("%s/%s: %s is %s, and %s in %s" % (root, name, c, r[c], old[c], target))
            rows[key(r)] = r
    with open(target, "w", newline="") as f:
        writer = csv.DictWriter(f, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[k] for k in sorted(rows))
    print("%s: %d rows, %d of them new" % (target, len(rows), len(rows) - before))


if __name__ == "__main__":
    main()
