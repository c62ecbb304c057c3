"""Compares exported models with torchpe: python3 compare.py DIR prints a JSON line for each folder of
DIR, with the relative difference of logits, also after three steps of an optimizer, and the largest
difference of a weight."""
import importlib.util
import json
import os
import sys
import traceback

import torch


def module_of(directory):
    spec = importlib.util.spec_from_file_location("model", os.path.join(directory, "model.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def apart(got, want):
    return ((got - want).norm() / want.norm()).item()


def compare(directory):
    module = module_of(directory)
    model, case = module.load(directory), module.read_safetensors(os.path.join(directory, "case.safetensors"))
    kwargs, target = {}, []
    if "symbols" in case:
        inputs = [case["symbols"].long()]
        if "targets" in case:
            target = [case["targets"].long()]
        else:
            kwargs["probe"] = case["probe"].long()
            target = [case["answers"].long()]
    else:
        inputs = [case["values"], case["masked"]]
    if "drawn" in case:
        kwargs["drawn"] = case["drawn"]
    out = {"case": os.path.basename(directory)}
    with torch.no_grad():
        out["logits"] = apart(model(*inputs, **kwargs), case["logits"])
    example = module.check(model)
    out["example"] = 0 if example is None else example
    weights = [p for p in model.parameters()]
    method = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[os.environ["METHOD"]]
    optimizer = method(weights, lr=1e-3, weight_decay=0.1)
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        model.loss(*inputs, *target, **kwargs).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out["trained logits"] = apart(model(*inputs, **kwargs), case["trained logits"])
    state, worst = model.state_dict(), ("", 0)
    for name, value in case.items():
        if name.startswith("after/"):
            largest = (state[name[6:]] - value).abs().max() / value.abs().max().clamp(min=1)
            worst = max(worst, (name[6:], largest.item()), key=lambda x: x[1])
    out["worst"], out["weights"] = worst
    return out


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sorted(os.listdir(sys.argv[1])):
        try:
            result = compare(os.path.join(sys.argv[1], name))
        except Exception:
            result = {"case": name, "error": traceback.format_exc()}
        print(json.dumps(result), flush=True)
