#!/usr/bin/env python3
"""What the GPU did in the traces of `torchpe bench step --trace`, as CSV: how often each kernel was
launched in a step, how long a launch took, and what that makes of the step.

    python3 scripts/gpu_kernels.py TRACE.json... >trace.csv

A step lasts from the end of Adam's kernel to the end of the next. The row "all" has its time, the row
"idle" the time in which nothing ran. Products are kernels of cuBLAS.
"""
import collections
import csv
import json
import os
import re
import sys

GROUPS = [("product", r"gemm|nvjet|splitKreduce|cutlass::Kernel2"), ("attention", r"attention|flash|fmha"),
          ("bias and GELU", r"bias_gelu"), ("GELU backward", r"dense_backward"), ("layer norm", r"layer_norm"),
          ("Adam", r"adam"), ("sums", r"add_sums"), ("copy", r"^Memcpy|^Memset")]


def group(name):
    other = "torchpe's other" if "torchpe::" in name else "libtorch's other"
    return next((g for g, pattern in GROUPS if re.search(pattern, name)), other)


def short(name):
    """void torchpe::compiled::(anonymous namespace)::f<float, 16>(...) -> f<float, 16>"""
    name = re.sub(r"^void ", "", name.replace("(anonymous namespace)::", "").replace("torchpe::compiled::", ""))
    return re.sub(r"\(.*", "", name).replace("torchpe::", "")[:80]


def rows(path):
    events = json.load(open(path))["traceEvents"]
    events = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    events.sort(key=lambda e: e["ts"])
    ends = [e["ts"] + e["dur"] for e in events if "adam" in e["name"]]  # the last kernel of weights in a step
    if len(ends) < 2:
        sys.exit("%s: fewer than two steps" % path)
    events = [e for e in events if ends[0] <= e["ts"] < ends[-1]]
    steps = len(ends) - 1
    times = collections.defaultdict(list)
    for e in events:
        times[group(e["name"]), short(e["name"])].append(e["dur"])
    wall = (ends[-1] - ends[0]) / steps / 1e3
    busy = sum(map(sum, times.values())) / steps / 1e3
    yield "all", "", len(events) / steps, wall
    yield "idle", "", 0, wall - busy
    for (which, name), of in sorted(times.items(), key=lambda item: -sum(item[1])):
        yield which, name, len(of) / steps, sum(of) / steps / 1e3


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["trace", "group", "kernel", "launches_a_step", "us_each", "ms_a_step"])
    for path in sys.argv[1:]:
        for which, name, launches, ms in rows(path):
            out.writerow([os.path.splitext(os.path.basename(path))[0], which, name, "%g" % round(launches, 2),
                          "%.1f" % (ms * 1e3 / launches) if name else "", "%.4f" % ms])


if __name__ == "__main__":
    main()
