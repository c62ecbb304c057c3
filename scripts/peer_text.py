#!/usr/bin/env python3
"""Times a training step on next characters in eager PyTorch, as a peer of `torchpe train --task text`.

    python3 scripts/peer_text.py WIDTH LENGTH BATCH STEPS
"""
import math
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
d, n, b, steps = (int(v) for v in sys.argv[1:5])
layers, heads, symbols = 4, 4, 80


def turned(x, cos, sin):
    a, e = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos - e * sin, a * sin + e * cos), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp_in, self.mlp_out = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x, cos, sin, mask):
        q, k, v = self.qkv(x).view(len(x), n, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        q, k = turned(q, cos, sin), turned(k, cos, sin)
        weights = (q @ k.transpose(-1, -2) / math.sqrt(d // heads) + mask).softmax(-1)
        x = self.norm1(x + self.out((weights @ v).transpose(1, 2).reshape(x.shape)))
        return self.norm2(x + F.gelu(self.mlp_out(F.gelu(self.mlp_in(x)))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(symbols, d), nn.Linear(d, symbols)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        width = d // heads
        angles = torch.arange(n)[:, None] * 10000 ** (-torch.arange(0, width, 2) / width)
        self.cos, self.sin = angles.cos(), angles.sin()
        self.mask = torch.full((n, n), -math.inf).triu(1)

    def forward(self, text):
        x = self.embedding(text)
        for block in self.blocks:
            x = block(x, self.cos, self.sin, self.mask)
        return self.head(x)


model = Model()
adam = torch.optim.Adam(model.parameters(), 1e-3)


def step():
    text = torch.randint(symbols, (b, n + 1))
    adam.zero_grad(set_to_none=True)
    F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()


for _ in range(2):
    step()
start = time.process_time()
for _ in range(steps):
    step()
spent, memory = (time.process_time() - start) / steps, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"width {d}, length {n}: {spent * 1e3:.1f} ms of CPU time a step, {memory // 1024} MB")
