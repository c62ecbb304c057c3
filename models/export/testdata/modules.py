"""Compares exported encodings with torchpe: python3 modules.py DIR prints a JSON line for each folder of
DIR, with the largest difference of its module, relative to the largest number."""
import importlib.util
import json
import os
import sys
import traceback

import torch


def loaded(path):
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(directory, case):
    module = loaded(os.path.join(directory, "encoding.py"))
    heads, width = case["q"].shape[1], case["q"].shape[-1]

    def project(y):
        return tuple((y @ w.T).reshape(y.shape[0], -1, heads, width).swapaxes(1, 2)
                     for w in case["weight"].reshape(3, -1, case["weight"].shape[-1]))
    pe = module.build(torch.float64).eval()
    if "drawn" in case:
        pe.begin(len(case["x"]), case["drawn"])
    layer = int(case["layer"])
    with torch.no_grad():
        x = pe.embed(layer, case["x"])
        outputs = module.attention(pe, layer, case["q"], case["k"], case["v"], x, project)
    return dict(zip(("x_out", "q_out", "k_out", "logits", "out"), (x, *outputs)))


def compare(directory):
    out = {"case": os.path.basename(directory), "worst": 0.0, "at": ""}
    case = READ(os.path.join(directory, "case.safetensors"))
    try:
        got = results(directory, case)
    except Exception:
        return dict(out, error=traceback.format_exc())
    for name in set(got) & set(case):
        want = case[name]
        seen = want.isfinite()
        apart = ((got[name] - want)[seen].abs().max() / want[seen].abs().max().clamp(min=1)).item()
        if not apart <= out["worst"]:
            out["worst"], out["at"] = apart, name
    return out


if __name__ == "__main__":
    torch.set_num_threads(1)
    READ = loaded(os.path.join(sys.argv[1], "reader.py")).read_safetensors
    for name in sorted(os.listdir(sys.argv[1])):
        if os.path.isdir(os.path.join(sys.argv[1], name)):
            print(json.dumps(compare(os.path.join(sys.argv[1], name))), flush=True)
