import json
import os

import torch

from encoding import ENCODINGS, Attn, mask_of
from weights import read_safetensors

CONFIG = json.loads(SETTINGS)


def build(dtype=torch.float32):
    """Returns the encoding of CONFIG, an nn.Module: build().embed(layer, x) is what it makes of the input
    [B, N, D] of a layer, attention(build(), layer, q, k, v) what it makes of attention."""
    given = {}
    if NUMBERS:
        given = read_safetensors(os.path.join(os.path.dirname(os.path.abspath(__file__)), NUMBERS))
    parts = CONFIG["encodings"]
    stack = "label" in parts[0]
    pe = ENCODINGS["+" if stack else parts[0]["scheme"]](CONFIG, parts if stack else parts[0]).to(dtype)
    for part in parts:
        own, prefix = (pe[part["label"]], part["label"] + ".") if stack else (pe, "")
        for name in [*part["parameters"], *part["buffers"]]:
            getattr(own, name).data.copy_(given[prefix + name])
    pe.begin(1, None)
    return pe


def attention(pe, layer, q, k, v, x=None, project=None):
    """Returns queries and keys [B, H, N, Dh] as the encoding leaves them, the logits [B, H, N, N] before
    mask and softmax, and the output [B, H, N, Dh].

    Some encodings need x [B, N, D], of which q, k and v are projections, or project, which maps
    [B, M, D] to q, k and v of [B, H, M, Dh].
    """
    around = CONFIG["attention"][layer]
    a = Attn(layer, x, around["scale"], lambda _: (q, k, v))
    a.project = project
    a.q, a.k, a.v = pe.qkv(a)
    logits = pe.logits(a, a.q @ a.k.transpose(-1, -2) * a.scale)
    seen = logits / around["temperature"]
    mask = mask_of(CONFIG["positions"]["index"], around)
    if mask is not None:
        seen = seen + mask.to(seen.device)
    weights = seen.softmax(-1)
    return a.q, a.k, logits, pe.output(a, weights, weights @ a.v)
