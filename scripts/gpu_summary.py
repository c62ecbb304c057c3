#!/usr/bin/env python3
"""The measurements of scripts/gpu_check.sh as tables: median step time, ms a model, TFLOP/s, ratios
to torchpe's best of the same task; and the goals, each with what it needs and what came out.

    python3 scripts/gpu_summary.py bench.jsonl [--gpu nvidia-h100-80gb]
    python3 scripts/gpu_summary.py --trace trace.csv                 what a step spends its time on (gpu_kernels.py)
    python3 scripts/gpu_summary.py bench.jsonl --best-compiled 2     labels of PyTorch's best for LST

Goals and predictions are of an H200, whose memory moves 4.3 TB/s, or of an H100, with 3.0; other GPUs
have none.

The best of either side is over all precisions, numbers of members and ways to launch.

Arithmetic is that of the model's products, 2 operations a multiplication, times 3 for forward and
backward passes: the linear maps (12 d_model^2 a token and layer) and attention (2 N d_model a token
and layer). Elementwise work and the optimizer are not counted.
"""
import argparse
import collections
import csv
import json
import sys

SIZES = {  # d_model, layers, tokens
    "lst": (160, 4, 16), "quick": (64, 4, 16), "nmar": (64, 4, 15), "fmri": (64, 4, 360),
}
LST_STEPS = 4000 * 64  # the paper's epochs on 8,100 puzzles in batches of 128
FMRI_STEPS = 50000


def products(preset, batch):
    """Floating-point operations of one model's training step as usually computed, all tokens in all layers."""
    d, layers, n = SIZES[preset]
    return 3 * 2 * batch * n * layers * (12 * d * d + 2 * n * d)


def read(path):
    """A row for every program and label, of all its records."""
    rows = {}
    for text in open(path):
        try:
            record = json.loads(text)
            rows.setdefault((record["who"], record["label"]), []).append(record["result"])
        except (ValueError, KeyError) as error:
            print("gpu_summary: left out: %s: %s" % (error, text.strip()), file=sys.stderr)
    for (who, label), results in rows.items():
        ms = sorted(r["step_ms_median"] for r in results)[len(results) // 2]
        first = results[0]
        members = first.get("members", 1)
        # torch.compile skips what it cannot trace, such as vmap: then the row is that of the plain model.
        whole = not first.get("compiled") or first.get("graphs") and not first.get("graph_breaks")
        note = "" if whole else " (%s graphs with %s breaks: not compiled as a whole)" % (
            first.get("graphs"), first.get("graph_breaks"))
        yield dict(who=who, label=label, note=note, compiled=bool(first.get("compiled")), preset=first["preset"], ms=ms, members=members, each=ms / members,
                   n=len(results), tflops=products(first["preset"], first["batch"]) * members / ms / 1e9,
                   mb=max(r.get("peak_gpu_mb") or 0 for r in results))


def best(table, preset, who, which=lambda r: True):
    """Least ms a model and step, NaN where nothing was measured."""
    return min((r["each"] for r in table if r["preset"] == preset and r["who"] == who and which(r)),
               default=float("nan"))


def goals(table, gpu):
    """(what, goal, predicted by arithmetic for the GPU, came out); ratios are PyTorch's time over torchpe's.
    What is predicted of times is the memory's share."""
    def on(h200, h100):
        return h200 if "h200" in gpu else h100 if "h100" in gpu else ""
    def eager(r):
        return ", eager" in r["label"]

    def plain(r):  # as a researcher gets it: float32, nothing set
        return r["label"].endswith("1 model, eager")

    def single(r):
        return r["members"] == 1
    lst, fmri = best(table, "lst", "torchpe"), best(table, "fmri", "torchpe")
    alone = best(table, "lst", "torchpe", single)
    yield "seconds a seed of LST, %s steps" % format(LST_STEPS, ","), on("50", "75"), on("44", "63"), lst * LST_STEPS / 1e3
    yield "times PyTorch eager, LST", "20", on("26 to 32", ""), best(table, "lst", "pytorch", plain) / lst
    yield "times PyTorch's best, LST", "2", on("1.5 to 1.8", ""), best(table, "lst", "pytorch") / lst
    yield "times eager, one LST model", "4", "", best(table, "lst", "pytorch", plain) / alone
    yield ("times best eager, one LST model", "", "",
           best(table, "lst", "pytorch", lambda r: eager(r) and not plain(r)) / alone)
    yield ("times best compiled, one LST model", "1", "",
           best(table, "lst", "pytorch", lambda r: single(r) and not eager(r)) / alone)
    yield "minutes a model of fMRI, %s steps" % format(FMRI_STEPS, ","), on("3", "4.3"), on("2.6", "3.7"), fmri * FMRI_STEPS / 6e4
    yield "times PyTorch's best, fMRI", "", "", best(table, "fmri", "pytorch") / fmri


def print_trace(path):
    """A column a trace: ms a step of each group of kernels."""
    ms, launches = collections.defaultdict(float), collections.Counter()
    with open(path) as f:
        for r in csv.DictReader(f):
            ms[r["group"], r["trace"]] += float(r["ms_a_step"])
            launches[r["trace"]] += float(r["launches_a_step"]) if r["kernel"] else 0
    traces = sorted(launches)
    groups = sorted({g for g, _ in ms} - {"all", "idle"}, key=lambda g: -ms[g, traces[-1]])
    print("| ms a step | %s |\n|---%s|" % (" | ".join(traces), "|---" * len(traces)))
    for g in groups + ["idle", "all"]:
        print("| %s | %s |" % (g, " | ".join("%.3f" % ms[g, t] for t in traces)))
    print("| kernels and copies | %s |" % " | ".join("%g" % launches[t] for t in traces))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("records", nargs="?")
    parser.add_argument("--trace")
    parser.add_argument("--gpu", default="")
    parser.add_argument("--best-compiled", type=int, metavar="N")
    args = parser.parse_args()
    if args.trace:
        print_trace(args.trace)
    if not args.records:
        return args.trace or parser.error("give bench.jsonl or --trace")
    table = list(read(args.records))
    if args.best_compiled:
        compiled = [r for r in table if r["who"] == "pytorch" and r["preset"] == "lst" and r["compiled"]]
        for r in sorted(compiled, key=lambda r: r["each"])[:args.best_compiled]:
            print(r["label"])
        return
    print("| what | goal | predicted | came out |\n|---|---|---|---|")
    for what, goal, predicted, value in goals(table, args.gpu):
        print("| %s | %s | %s | %s |" % (what, goal, predicted, "%.3g" % value if value == value else "not measured"))
    print("\n| program | what | ms a step | ms a model and step | TFLOP/s | peak GPU MB | runs | times torchpe's best |")
    print("|---|---|---|---|---|---|---|---|")
    for preset in sorted({r["preset"] for r in table}):
        ours = best(table, preset, "torchpe")
        for r in table:
            if r["preset"] == preset:
                print("| %(who)s | %(label)s%(note)s | %(ms).3f | %(each).4f | %(tflops).1f | %(mb).0f | "
                      "%(n)d | " % r + "%.2f |" % (r["each"] / ours))


if __name__ == "__main__":
    main()
