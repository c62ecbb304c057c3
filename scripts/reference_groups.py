#!/usr/bin/env python3
"""Writes torchpe/testdata/groups.json: steps of torch.optim with two parameter groups, to which the
optimizers are held.

    /usr/bin/python3 scripts/reference_groups.py

Each case has the parameters p, split at column `cut` into a first group (learning rates pe_lr, a
step each, and weight decay pe_weight_decay) and a second one (lr, weight_decay), the gradients of
each step, and the parameters after each step. The norm of all gradients together is clipped where
clip > 0. Everything is float64."""
import json
import os

import torch

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
P, CUT, STEPS = 11, 4, 5
cases = []
for name, cls in (("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)):
    for clip in (0.0, 0.5):
        start, grads = torch.randn(P), torch.randn(STEPS, P)
        lr = [0.1 * min(1, (k + 1) / 2) for k in range(STEPS)]
        pe_lr = [0.03 * min(1, (k + 1) / 4) for k in range(STEPS)]
        first, second = (torch.nn.Parameter(x.clone()) for x in (start[:CUT], start[CUT:]))
        o = cls([{"params": [first], "weight_decay": 0.2}, {"params": [second], "weight_decay": 0.05}], lr=1.0)
        after = []
        for k in range(STEPS):
            first.grad, second.grad = grads[k, :CUT].clone(), grads[k, CUT:].clone()
            if clip:
                torch.nn.utils.clip_grad_norm_([first, second], clip)
            o.param_groups[0]["lr"], o.param_groups[1]["lr"] = pe_lr[k], lr[k]
            o.step()
            after.append(torch.cat([first, second]).tolist())
        cases.append(dict(method=name, clip=clip, cut=CUT, start=start.tolist(),
            gradients=grads.tolist(), lr=lr, pe_lr=pe_lr,
                          weight_decay=0.05, pe_weight_decay=0.2, after=after))
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torchpe", "testdata", "groups.json")
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path, "w") as f:
    json.dump(dict(torch=torch.__version__, cases=cases), f, indent=1)
    f.write("\n")
