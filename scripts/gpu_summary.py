#!/usr/bin/env python3
"""The measurements of scripts/gpu_check.sh as a table: median step time, ms a model, TFLOP/s, and
ratios to torchpe's best of the same task.

    python3 scripts/gpu_summary.py bench.jsonl

Arithmetic is that of the model's products, 2 operations a multiplication, times 3 for forward and
backward passes: the linear maps (12 d_model^2 a token and layer) and attention (2 N d_model a token
and layer). Elementwise work and the optimizer are not counted.
"""
import json
import statistics
import sys

SIZES = {  # d_model, layers, tokens
    "lst": (160, 4, 16), "quick": (64, 4, 16), "nmar": (64, 4, 15), "fmri": (64, 4, 360),
}
EPOCHS, STEPS_PER_EPOCH = 4000, 64  # of the paper's runs on puzzles


def products(preset, batch):
    """Floating-point operations of one model's training step as usually computed, all tokens in all layers."""
    d, layers, n = SIZES[preset]
    return 3 * 2 * batch * n * layers * (12 * d * d + 2 * n * d)


def main():
    rows = {}
    for text in open(sys.argv[1]):
        record = json.loads(text)
        rows.setdefault((record["who"], record["label"]), []).append(record["result"])
    table = []
    for (who, label), results in rows.items():
        ms = statistics.median(r["step_ms_median"] for r in results)
        first = results[0]
        members = first.get("members", 1)
        table.append(dict(who=who, label=label, preset=first["preset"], ms=ms, each=ms / members, n=len(results),
                          tflops=products(first["preset"], first["batch"]) * members / ms / 1e9,
                          mb=max(r.get("peak_gpu_mb") or 0 for r in results)))
    print("| program | what | ms a step | ms a model and step | TFLOP/s | peak GPU MB | runs | times torchpe's best |")
    print("|---|---|---|---|---|---|---|---|")
    for preset in sorted({r["preset"] for r in table}):
        best = min((r["each"] for r in table if r["preset"] == preset and r["who"] == "torchpe"), default=float("nan"))
        for r in table:
            if r["preset"] == preset:
                print("| %(who)s | %(label)s | %(ms).3f | %(each).4f | %(tflops).1f | %(mb).0f | "
                      "%(n)d | " % r + "%.2f |" % (r["each"] / best))
        if preset == "lst" and best == best:
            seconds = best * EPOCHS * STEPS_PER_EPOCH / 1e3
            print("\nLST: %.1f s a seed for %d epochs of %d steps at torchpe's best.\n"
                  % (seconds, EPOCHS, STEPS_PER_EPOCH))


if __name__ == "__main__":
    main()
