import json
import os
import sys

import torch

from weights import read_safetensors, write_safetensors

HERE = os.path.dirname(os.path.abspath(__file__))


def load(directory=HERE):
    """Returns the model of a folder with config.json and model.safetensors, in evaluation mode."""
    with open(os.path.join(directory, "config.json")) as f:
        model = Task(json.load(f))
    state = read_safetensors(os.path.join(directory, "model.safetensors"))
    model.to(next(iter(state.values())).dtype).load_state_dict(state)
    return model.eval()


def save(model, directory):
    """Writes the model to a folder, from which load and `torchpe import` read it. The example of
    config.json, whose output was another, is left out."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w") as f:
        json.dump(dict(model.config, example=None), f)
    write_safetensors(os.path.join(directory, "model.safetensors"), model.state_dict())


def check(model):
    """Returns the relative difference, in norm, between the model's output for an example and the output
    that torchpe gave when it wrote config.json; None without one."""
    example = model.config["example"]
    if example is None:
        return None
    dtype = model.head.weight.dtype
    inputs = {name: torch.tensor(value, dtype=torch.long if name in ("symbols", "probe") else dtype)
              for name, value in example["inputs"].items()}
    with torch.no_grad():
        got = model(**inputs)
    want = torch.tensor(example["output"], dtype=dtype).reshape(got.shape)
    return ((got - want).norm() / want.norm()).item()


def main():
    model = load(sys.argv[1] if len(sys.argv) > 1 else HERE)
    print(__doc__.strip())
    print()
    print("%d trained numbers, PyTorch %s" % (
        sum(p.numel() for p in model.parameters()), torch.__version__))
    difference = check(model)
    if difference is None:
        print("config.json has no example to compare with: the model was trained further, or it draws at "
              "random in evaluation too.")
        return
    print("The output for the example in config.json differs from torchpe's by %.1e" % difference)
    if not difference < 1e-5:
        sys.exit("That is more than rounding: config.json or model.safetensors has been changed.")


if __name__ == "__main__":
    main()
