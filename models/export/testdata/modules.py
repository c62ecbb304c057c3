"""Compares exported encodings with torchpe: python3 modules.py DIR prints a JSON line for each folder of
DIR, with the largest difference of each library's module, relative to the largest number. Where JAX is
not installed NumPy stands in for it."""
import importlib.util
import json
import math
import os
import sys
import traceback
import types

import numpy
import torch

try:
    import jax
    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax, scipy, special = (types.ModuleType(name) for name in ("jax", "jax.scipy", "jax.scipy.special"))
    jax.numpy, jax.scipy, scipy.special, special.erf = numpy, scipy, special, numpy.vectorize(math.erf)
    sys.modules.update({"jax": jax, "jax.numpy": numpy, "jax.scipy": scipy, "jax.scipy.special": special})


def loaded(path):
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(directory, library, case):
    module = loaded(os.path.join(directory, library + ".py"))
    as_torch = library == "pytorch"
    heads, width = case["q"].shape[1], case["q"].shape[-1]
    weight, x = case["weight"], case["x"]
    if not as_torch:
        case, weight, x = {name: a.numpy() for name, a in case.items()}, weight.numpy(), x.numpy()

    def project(y):
        return tuple((y @ w.T).reshape(y.shape[0], -1, heads, width).swapaxes(1, 2)
                     for w in weight.reshape(3, -1, weight.shape[-1]))
    pe = module.build(torch.float64) if as_torch else module.build()
    if as_torch:
        pe.eval()
    drawn = case.get("drawn")
    if drawn is not None:
        pe.begin(len(x), drawn if as_torch else module.Tensor(drawn))
    out = {}
    layer = int(case["layer"])
    with torch.no_grad():
        out["x_out"] = pe.embed(layer, x) if as_torch else module.embed(pe, layer, x)
        names = "q_out", "k_out", "logits", "out"
        out.update(zip(names, module.attention(pe, layer, case["q"], case["k"], case["v"], out["x_out"], project)))
    return {name: numpy.asarray(a) for name, a in out.items()}


def compare(directory):
    out = {"case": os.path.basename(directory), "worst": 0.0, "at": ""}
    case = READ(os.path.join(directory, "case.safetensors"))
    for library in "pytorch", "numpy", "jax":
        try:
            got = results(directory, library, case)
        except Exception:
            out["error"] = library + ": " + traceback.format_exc()
            continue
        for name in set(got) & set(case):
            value, want = got[name], case[name].numpy()
            seen = numpy.isfinite(want)
            apart = numpy.abs(value - want)[seen].max() / max(1, numpy.abs(want[seen]).max())
            if not apart <= out["worst"]:
                out["worst"], out["at"] = float(apart), library + " " + name
    return out


if __name__ == "__main__":
    torch.set_num_threads(1)
    READ = loaded(os.path.join(sys.argv[1], "reader.py")).read_safetensors
    for name in sorted(os.listdir(sys.argv[1])):
        if os.path.isdir(os.path.join(sys.argv[1], name)):
            print(json.dumps(compare(os.path.join(sys.argv[1], name))), flush=True)
