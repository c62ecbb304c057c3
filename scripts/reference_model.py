#!/usr/bin/env python3
"""Independent PyTorch reference of the encoder transformer, and the writer of its test fixtures.

    python3 scripts/reference_model.py            write models/testdata/*.safetensors, checking each one
    python3 scripts/reference_model.py --verify   recompute and compare with the files that are there, write nothing
    python3 scripts/reference_model.py --list     names only

Needs PyTorch (1.13 or newer) and numpy. It was written from the paper's text and from what the published code computes
(github.com/ljhearne/LSTNN_public), without sight of the Go code that it tests. Everything is float64, without dropout.

The eight schemes are nope, c-nope, 1d-fixed, 2d-fixed, learn, random, relative and rope. Where text
and published code differ there are two readings, called fidelity `text` and `code`; READINGS below
lists the differences. A file is named <fidelity>_<scheme>[_<variant>].safetensors.

Symbols: B batch, N = 16 tokens (a 4 x 4 grid, row-major), D = d_model, H heads, Dh = D / H, L layers, C = 4 classes.

A file holds
    __metadata__            the configuration, every entry a string, and once more as JSON under the key "config"
    input/symbols           [B, N] int64: 0 blank, 1-4 symbols, 5 probe (exactly one a row)
    input/target            [B] int64, the answer, 0-3
    input/probe             [B] int64, index of the probe's token
    input/positions         [B, N] int64, only random in the text's reading: the sorted positions drawn for each sample
    input/values            [B, N] numbers, and
    input/masked            [B, N] int64, 1 where the number is hidden: in place of the three of
                            puzzles in masked prediction (variants masked*)
    w/<name>                every weight, the frozen `random` table included
    embedding               [B, N, D] token embedding before any positional encoding
    pe/<layer>              the table added at the input of that layer, if one is: [N, D], or
                            [B, N, D] with drawn positions
    attention/<layer>       [B, H, N, N] softmax weights, row = query
    hidden/<layer>          [B, N, D] output of that block
    logits                  [B, C]; in masked prediction the predictions [B, N], or [B, M] of the
                            masked tokens where each sample has M of them
    loss                    [1] mean cross-entropy; in masked prediction the mean squared error over masked tokens
    grad/<name>             gradient of the loss by every trained weight (config "trained" names them)
    step3/<name>            trained weights after 3 optimizer steps on this batch, the first with the gradient above
Weights that a reading does not have are absent. Linear weights are [out, in], as PyTorch keeps
them. D is 4 with one head and 8 elsewhere, to keep the folder small; --d-model, --batch and --out
write larger ones.

The output is the same to the last byte when the script is run again on the same machine and
PyTorch. Another CPU or BLAS may round the last bits of sums differently: compare with a tolerance
(--verify does).
"""
import argparse
import json
import math
import os
import struct
import sys
import zlib

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before torch: these matrices are tiny

import numpy as np
import torch
import torch.nn.functional as F

GRID = 4
N = GRID * GRID
CLASSES = 4
PROBE = 5  # the symbol that marks the token asked for

READINGS = {
    "code": dict(token_input="one-hot", read_out="last", pe_placement="block", positions_from=0, grid_order="columns",
                 relative="skew", random="frozen", c_nope_temperature=0.01),
    "text": dict(token_input="embedding", read_out="probe", pe_placement="input", positions_from=1, grid_order="rows",
                 relative="shaw", random="ruoss", c_nope_temperature=1.0),
}
SCHEMES = ["nope", "c-nope", "1d-fixed", "2d-fixed", "learn", "random", "relative", "rope"]

# (fidelity, scheme, variant) -> changes to the configuration
VARIANTS = {
    ("code", "learn", "heads2"): dict(heads=2),
    ("code", "rope", "heads2"): dict(heads=2),
    ("code", "relative", "heads2"): dict(heads=2),
    ("text", "relative", "k3"): dict(relative_k=3),
    ("text", "relative", "values"): dict(relative_values=True),
    ("text", "relative", "heads2"): dict(heads=2, relative_k=3, relative_values=True),
    ("code", "learn", "wd"): dict(optimizer="adamw", weight_decay=0.1),
    ("code", "learn", "sgd"): dict(optimizer="sgd"),
    ("code", "learn", "masked"): dict(token_input="scalar", read_out="tokens", classes=1,
    mask_token="learned", mask_count=8),
    ("text", "learn", "masked"): dict(token_input="scalar", read_out="tokens", classes=1,
    mask_token="zero", mask_count=8),
    ("text", "rope", "masked"): dict(token_input="scalar", read_out="tokens", classes=1,
    mask_token="learned", mask_count=0),  # 0: it varies
}


def configuration(fidelity, scheme, variant, d_model=None, batch=None):
    """The resolved configuration of one fixture, a flat dict."""
    wide = scheme == "2d-fixed" or variant == "heads2"  # 4 dims are one frequency a half only, or two a head
    d = d_model or (8 if wide else 4)
    bias = not (fidelity == "code" and scheme in ("rope", "c-nope"))
    cfg = dict(
        fidelity=fidelity, scheme=scheme, variant=variant, tokens=N, grid_rows=GRID,
        grid_columns=GRID, classes=CLASSES, symbols=6,
        batch=batch or (3 if wide else 4), d_model=d, d_ff=4 * d, layers=2, heads=1, norm_eps=1e-5,
        norm="post", sigma=0.5,
        rope_base=10000.0, fixed_pe_dropout=0.0, attn_in_bias=bias, attn_out_bias=bias,
        attn_out=True, causal=scheme == "c-nope",
        optimizer="adam", lr=1e-2, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0, steps=3, **READINGS[fidelity])
    if scheme == "relative" and cfg["relative"] == "skew":
        cfg.update(causal=True, attn_out=False, attn_out_bias=False)
    if scheme == "relative" and cfg["relative"] == "shaw":
        cfg.update(relative_k=N - 1, relative_values=False)  # N - 1: nothing is clipped
    if scheme == "random" and cfg["random"] == "ruoss":
        cfg.update(random_max=64)
    cfg.update(VARIANTS.get((fidelity, scheme, variant), {}))
    cfg["d_head"] = d // cfg["heads"]
    cfg["temperature"] = cfg["c_nope_temperature"] if scheme == "c-nope" else 1.0
    cfg["name"] = "_".join(filter(None, [fidelity, scheme, variant]))
    return cfg


# ------------------------------------------------------------------------------ weights and inputs

def make_weights(cfg, rng):
    """Random weights by name: PyTorch's default spread, with noise on whatever would start at exactly 0 or 1."""
    d, dh, layers = cfg["d_model"], cfg["d_head"], cfg["layers"]
    w = {}

    def uniform(bound, *shape):
        return rng.uniform(-bound, bound, shape)

    def linear(name, out, inp, bias=True):
        w[name + ".weight"] = uniform(1 / math.sqrt(inp), out, inp)
        if bias:
            w[name + ".bias"] = uniform(1 / math.sqrt(inp), out) + 0.1 * rng.randn(out)

    def norm(name):
        w[name + ".weight"] = 1 + 0.2 * rng.randn(d)
        w[name + ".bias"] = 0.2 * rng.randn(d)

    if cfg["token_input"] == "one-hot":
        linear("embed", d, 5)
    elif cfg["token_input"] == "scalar":
        linear("embed", d, 1)
        if cfg["mask_token"] == "learned":
            w["embed.mask"] = uniform(1, d)
    else:
        w["embed.weight"] = rng.randn(cfg["symbols"], d)
    for i in range(layers):
        b = "block%d." % i
        w[b + "attn.in.weight"] = uniform(math.sqrt(6 / (4 * d)), 3 * d, d)  # Xavier over the fused matrix
        # q, k: a softmax neither flat nor saturated
        w[b + "attn.in.weight"][:2 * d] *= 2 * math.sqrt(cfg["temperature"])
        if cfg["attn_in_bias"]:
            w[b + "attn.in.bias"] = 0.3 * rng.randn(3 * d)
        if cfg["attn_out"]:
            linear(b + "attn.out", d, d, cfg["attn_out_bias"])
        norm(b + "norm1")
        linear(b + "mlp.in", cfg["d_ff"], d)
        linear(b + "mlp.out", d, cfg["d_ff"])
        norm(b + "norm2")
    linear("head", cfg["classes"], d)

    tables = layers if cfg["pe_placement"] == "block" else 1
    if cfg["scheme"] == "learn":
        w["pe.table"] = cfg["sigma"] * rng.randn(tables, N, d)
    if cfg["scheme"] == "random" and cfg["random"] == "frozen":
        w["pe.table"] = rng.randn(tables, N, d)
    if cfg["scheme"] == "relative":
        rows = N if cfg["relative"] == "skew" else 2 * cfg["relative_k"] + 1
        w["pe.keys"] = rng.randn(layers, rows, dh)
        if cfg.get("relative_values"):
            w["pe.values"] = rng.randn(layers, rows, dh)
    return {name: torch.from_numpy(np.ascontiguousarray(v, dtype=np.float64)) for name, v in w.items()}


def make_inputs(cfg, rng):
    """symbols [B, N], target [B], probe [B] and, for drawn positions, positions [B, N]; int64."""
    b = cfg["batch"]
    if cfg["token_input"] == "scalar":
        masked = np.stack([rng.permutation(N) < (cfg["mask_count"] or 3 + 2 * i) for i in range(b)])
        return dict(values=torch.from_numpy(rng.randn(b, N)), masked=torch.from_numpy(masked.astype(np.int64)))
    symbols = rng.choice(5, size=(b, N), p=[0.4, 0.15, 0.15, 0.15, 0.15])
    probe = np.concatenate([[5, N - 1, 0], rng.permutation(N)])[:b]  # inside, last and first token come first
    symbols[np.arange(b), probe] = PROBE
    target = np.arange(b) % CLASSES
    rng.shuffle(target)
    inputs = dict(symbols=symbols, target=target, probe=probe)
    if cfg["scheme"] == "random" and cfg["random"] == "ruoss":
        inputs["positions"] = np.stack([np.sort(rng.choice(cfg["random_max"], N, replace=False)) for _ in range(b)])
    return {name: torch.from_numpy(np.ascontiguousarray(v, dtype=np.int64)) for name, v in inputs.items()}


# --------------------------------------------------------------------------------------- the model

def sinusoid(positions, width):
    """Vaswani et al.: [..., width] with sin(p / 10000^(2k/width)) in column 2k and the cosine in column 2k + 1."""
    frequency = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = positions.double().unsqueeze(-1) * frequency
    return torch.stack([torch.sin(angle), torch.cos(angle)], dim=-1).flatten(-2)


def absolute_table(cfg, w, layer, positions):
    """What is added to the tokens at the input of this layer, [N, D] or [B, N, D], or None."""
    if layer > 0 and cfg["pe_placement"] == "input":
        return None
    d, first, index = cfg["d_model"], cfg["positions_from"], torch.arange(N)
    if cfg["scheme"] == "1d-fixed":
        return sinusoid(index + first, d)
    if cfg["scheme"] == "2d-fixed":
        row = sinusoid(torch.div(index, GRID, rounding_mode="floor") + first, d // 2)
        column = sinusoid(index % GRID + first, d // 2)
        return torch.cat([column, row] if cfg["grid_order"] == "columns" else [row, column], dim=-1)
    if cfg["scheme"] == "learn":
        return w["pe.table"][layer]
    if cfg["scheme"] == "random":
        return w["pe.table"][layer] if cfg["random"] == "frozen" else sinusoid(positions, d)
    return None


def rotate(x, positions, base):
    """RoPE on x [B, H, N, Dh]: dimensions 2k and 2k + 1 turn by the angle position * base^(-2k/Dh)."""
    dh = x.shape[-1]
    angle = positions.double().unsqueeze(-1) * base ** (-torch.arange(0, dh, 2, dtype=torch.float64) / dh)  # [N, Dh/2]
    cos, sin = torch.cos(angle), torch.sin(angle)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def skew(x):
    """[..., N, N] of q_i . E_r -> [..., N, N] whose entry (i, j) is x[i, N-1-(i-j)] for j <= i; the
    rest is to be masked.

    A zero column put in front, and reading the same numbers with rows one shorter, shifts row i by N-1-i to the left.
    """
    n = x.shape[-1]
    return F.pad(x, (1, 0)).reshape(*x.shape[:-2], n + 1, n)[..., 1:, :]


def offset_index(k):
    """Shaw et al.: [N, N] rows of the table for the offset j - i, clipped to -k..k."""
    index = torch.arange(N)
    return (index[None, :] - index[:, None]).clamp(-k, k) + k


def attention(cfg, w, layer, x):
    """Self-attention of x [B, N, D]: the output [B, N, D] and the softmax weights [B, H, N, N]."""
    b, h, dh, name = x.shape[0], cfg["heads"], cfg["d_head"], "block%d.attn." % layer
    qkv = F.linear(x, w[name + "in.weight"], w.get(name + "in.bias"))
    q, k, v = (t.reshape(b, N, h, dh).transpose(1, 2) for t in qkv.chunk(3, dim=-1))  # each [B, H, N, Dh]

    relative = cfg["relative"] if cfg["scheme"] == "relative" else None
    if cfg["scheme"] == "rope":
        positions = torch.arange(N) + cfg["positions_from"]
        q, k = rotate(q, positions, cfg["rope_base"]), rotate(k, positions, cfg["rope_base"])

    logits = q @ k.transpose(-2, -1)
    if relative == "skew":
        logits = logits + skew(q @ w["pe.keys"][layer].T)
    if relative == "shaw":
        a = w["pe.keys"][layer][offset_index(cfg["relative_k"])]  # [N, N, Dh]
        logits = logits + torch.einsum("bhid,ijd->bhij", q, a)
    logits = logits / math.sqrt(dh)
    if cfg["causal"]:
        logits = logits.masked_fill(torch.ones(N, N).triu(1).bool(), -math.inf)
    weights = torch.softmax(logits / cfg["temperature"], dim=-1)

    out = weights @ v
    if cfg.get("relative_values"):
        a = w["pe.values"][layer][offset_index(cfg["relative_k"])]
        out = out + torch.einsum("bhij,ijd->bhid", weights, a)
    out = out.transpose(1, 2).reshape(b, N, -1)  # heads side by side
    if cfg["attn_out"]:
        out = F.linear(out, w[name + "out.weight"], w.get(name + "out.bias"))
    return out, weights


def forward(cfg, w, inputs):
    """Everything that a fixture records of one forward pass, by name."""
    d, eps = cfg["d_model"], cfg["norm_eps"]
    if cfg["token_input"] == "scalar":
        x = inputs["values"].unsqueeze(-1) * w["embed.weight"][:, 0] + w["embed.bias"]
        x = torch.where(inputs["masked"].bool().unsqueeze(-1), w.get("embed.mask", torch.zeros(d).double()), x)
    elif cfg["token_input"] == "one-hot":  # symbols 1..5 are channels 0..4 and a blank is all zeros
        one_hot = F.one_hot(inputs["symbols"], 6)[..., 1:].double()
        x = F.linear(one_hot, w["embed.weight"], w["embed.bias"])
    else:
        x = w["embed.weight"][inputs["symbols"]]
    record = {"embedding": x}
    for i in range(cfg["layers"]):
        b = "block%d." % i
        table = absolute_table(cfg, w, i, inputs.get("positions"))
        if table is not None:
            record["pe/%d" % i] = table
            x = x + table
        a, record["attention/%d" % i] = attention(cfg, w, i, x)
        x = F.layer_norm(a + x, (d,), w[b + "norm1.weight"], w[b + "norm1.bias"], eps)
        m = F.gelu(F.linear(x, w[b + "mlp.in.weight"], w[b + "mlp.in.bias"]))
        m = F.gelu(F.linear(m, w[b + "mlp.out.weight"], w[b + "mlp.out.bias"]))  # a GELU after the second map, too
        x = F.layer_norm(m + x, (d,), w[b + "norm2.weight"], w[b + "norm2.bias"], eps)
        record["hidden/%d" % i] = x
    if cfg["read_out"] == "tokens":
        masked, predicted = inputs["masked"].bool(), F.linear(x, w["head.weight"], w["head.bias"])[..., 0]
        record["logits"] = predicted[masked].reshape(len(masked), -1) if cfg["mask_count"] else predicted
        record["loss"] = F.mse_loss(predicted[masked], inputs["values"][masked]).reshape(1)
        return record
    token = inputs["probe"] if cfg["read_out"] == "probe" else torch.full_like(inputs["probe"], N - 1)
    x = x[torch.arange(len(token)), token]
    record["logits"] = F.linear(x, w["head.weight"], w["head.bias"])
    record["loss"] = F.cross_entropy(record["logits"], inputs["target"]).reshape(1)
    return record


def is_trained(cfg, name):
    return not (cfg["scheme"] == "random" and name == "pe.table")


def make_optimizer(cfg, parameters):
    if cfg["optimizer"] == "sgd":
        return torch.optim.SGD(parameters, lr=cfg["lr"])
    options = dict(lr=cfg["lr"], betas=(cfg["beta1"], cfg["beta2"]), eps=cfg["eps"])
    if cfg["optimizer"] == "adamw":
        return torch.optim.AdamW(parameters, weight_decay=cfg["weight_decay"], **options)
    return torch.optim.Adam(parameters, **options)


def train(cfg, weights, inputs):
    """Gradients at the start, and trained weights after cfg["steps"] optimizer steps."""
    w = {name: v.clone().requires_grad_(is_trained(cfg, name)) for name, v in weights.items()}
    trained = {name: v for name, v in w.items() if v.requires_grad}
    optimizer = make_optimizer(cfg, list(trained.values()))
    grads = None
    for _ in range(cfg["steps"]):
        optimizer.zero_grad()
        forward(cfg, w, inputs)["loss"].sum().backward()
        grads = grads or {name: v.grad.clone() for name, v in trained.items()}
        optimizer.step()
    return grads, {name: v.detach() for name, v in trained.items()}


# -------------------------------------------------------------------------------------- the checks

def expect(ok, *what):
    if not ok:
        sys.exit("reference_model.py: check failed: " + " ".join(map(str, what)))


def expect_close(got, want, tolerance, *what):
    difference = (got - want).abs().max().item()
    expect(got.shape == want.shape and difference <= tolerance, *what, "differs by %.3g" % difference)


def check_gradients(cfg, weights, inputs, grads, rng):
    """Backpropagation against a fourth-order finite difference: of every weight its two steepest
    entries and a random one."""
    h = 1e-5 if cfg["temperature"] == 1 else 2e-6
    with torch.no_grad():
        for name, g in grads.items():
            flat = weights[name].reshape(-1)  # a view: the model sees the change
            steepest = g.reshape(-1).abs().argsort(descending=True)[:2].tolist()
            for at in steepest + [rng.randint(flat.numel())]:
                value, loss = flat[at].item(), {}
                for step in (-2, -1, 1, 2):
                    flat[at] = value + step * h
                    loss[step] = forward(cfg, weights, inputs)["loss"].item()
                flat[at] = value
                numeric = (8 * (loss[1] - loss[-1]) - (loss[2] - loss[-2])) / (12 * h)
                exact = g.reshape(-1)[at].item()
                expect(abs(numeric - exact) <= 2e-9 + 1e-7 * abs(exact), cfg["name"], "gradient of",
                    name, at, exact, "numerically", numeric)


def check_attention(cfg, weights, rng):
    """Layer 0 against another way to compute the same attention: PyTorch's own module, or plain
    loops with the formula as printed."""
    b, d, h, dh = 2, cfg["d_model"], cfg["heads"], cfg["d_head"]
    x = torch.from_numpy(rng.randn(b, N, d))
    out, attn = attention(cfg, weights, 0, x)
    w_in, b_in = weights["block0.attn.in.weight"], weights.get("block0.attn.in.bias", torch.zeros(3 * d).double())
    w_out = weights.get("block0.attn.out.weight", torch.eye(d).double())
    b_out = weights.get("block0.attn.out.bias", torch.zeros(d).double())

    if cfg["scheme"] not in ("relative", "rope") and cfg["temperature"] == 1:
        module = torch.nn.MultiheadAttention(d, h, batch_first=True).double()
        with torch.no_grad():
            for parameter, value in ((module.in_proj_weight, w_in), (module.in_proj_bias, b_in),
                (module.out_proj.weight, w_out),
                                     (module.out_proj.bias, b_out)):
                parameter.copy_(value)
            mask = torch.ones(N, N).triu(1).bool() if cfg["causal"] else None
            want, want_attn = module(x, x, x, attn_mask=mask, average_attn_weights=False)
        expect_close(attn, want_attn, 1e-13, cfg["name"], "attention weights against torch.nn.MultiheadAttention")
        expect_close(out, want, 1e-13, cfg["name"], "attention output against torch.nn.MultiheadAttention")
        return

    q, k, v = ((x @ w_in.T + b_in).numpy()[:, :, part * d:(part + 1) * d].reshape(b, N, h, dh) for part in range(3))
    keys = weights["pe.keys"][0].numpy() if "pe.keys" in weights else None
    values = weights["pe.values"][0].numpy() if "pe.values" in weights else None
    if cfg["scheme"] == "rope":  # a pair is a complex number that is turned
        turn = np.exp(1j * np.outer(np.arange(N) + cfg["positions_from"],
            [10000.0 ** (-2 * i / dh) for i in range(dh // 2)]))
        qc, kc = ((t[..., 0::2] + 1j * t[..., 1::2]) * turn[:, None, :] for t in (q, k))
    want, want_attn = np.zeros((b, N, d)), np.zeros((b, h, N, N))
    for s in range(b):
        for head in range(h):
            for i in range(N):
                e = np.full(N, -np.inf)
                for j in range(i + 1 if cfg["causal"] else N):
                    if cfg["scheme"] == "rope":
                        e[j] = np.real(np.sum(qc[s, i, head] * np.conj(kc[s, j, head])))
                    else:
                        e[j] = q[s, i, head] @ k[s, j, head]
                    if keys is not None and cfg["relative"] == "skew":
                        e[j] += q[s, i, head] @ keys[N - 1 - (i - j)]
                    if keys is not None and cfg["relative"] == "shaw":
                        e[j] += q[s, i, head] @ keys[max(-cfg["relative_k"],
                            min(cfg["relative_k"], j - i)) + cfg["relative_k"]]
                e = e / math.sqrt(dh) / cfg["temperature"]
                p = np.exp(e - e.max())
                p /= p.sum()
                want_attn[s, head, i] = p
                for j in range(N):
                    term = v[s, j, head]
                    if values is not None:
                        term = term + values[max(-cfg["relative_k"], min(cfg["relative_k"], j - i)) + cfg["relative_k"]]
                    want[s, i, head * dh:(head + 1) * dh] += p[j] * term
    expect_close(attn, torch.from_numpy(want_attn), 1e-12, cfg["name"], "attention weights against the printed formula")
    expect_close(out, torch.from_numpy(want) @ w_out.T + b_out, 1e-12, cfg["name"],
        "attention output against the printed formula")


def check_tables(cfg, record):
    """Fixed tables against the printed formula, one number at a time."""
    if cfg["scheme"] not in ("1d-fixed", "2d-fixed"):
        return
    d, first = cfg["d_model"], cfg["positions_from"]

    def wave(position, dim, width):
        angle = position / 10000 ** ((dim - dim % 2) / width)
        return math.cos(angle) if dim % 2 else math.sin(angle)

    want = torch.zeros(N, d).double()
    for token in range(N):
        row, column = divmod(token, GRID)
        halves = (column, row) if cfg["grid_order"] == "columns" else (row, column)
        for dim in range(d):
            if cfg["scheme"] == "1d-fixed":
                want[token, dim] = wave(token + first, dim, d)
            else:
                want[token, dim] = wave(halves[dim // (d // 2)] + first, dim % (d // 2), d // 2)
    layers = [0] if cfg["pe_placement"] == "input" else range(cfg["layers"])
    expect(sum(name.startswith("pe/") for name in record) == len(layers), cfg["name"],
        "adds its table in the wrong layers")
    for layer in layers:
        expect_close(record["pe/%d" % layer], want, 1e-14, cfg["name"], "table")


def check_optimizer(cfg, weights, inputs, stepped):
    """The optimizer's steps once more, written out: SGD, or Adam with the decay applied to the
    weight itself (AdamW)."""
    w = {name: v.clone().requires_grad_(is_trained(cfg, name)) for name, v in weights.items()}
    trained = [name for name in w if w[name].requires_grad]
    m, v = {n: 0 * w[n].detach() for n in trained}, {n: 0 * w[n].detach() for n in trained}
    for t in range(1, cfg["steps"] + 1):
        grads = torch.autograd.grad(forward(cfg, w, inputs)["loss"].sum(), [w[n] for n in trained])
        with torch.no_grad():
            for n, g in zip(trained, grads):
                if cfg["optimizer"] == "sgd":
                    w[n] -= cfg["lr"] * g
                    continue
                m[n] = cfg["beta1"] * m[n] + (1 - cfg["beta1"]) * g
                v[n] = cfg["beta2"] * v[n] + (1 - cfg["beta2"]) * g * g
                w[n] *= 1 - cfg["lr"] * cfg["weight_decay"]
                mean, square = m[n] / (1 - cfg["beta1"] ** t), v[n] / (1 - cfg["beta2"] ** t)
                w[n] -= cfg["lr"] * mean / (square.sqrt() + cfg["eps"])
    for n in trained:
        expect_close(w[n].detach(), stepped[n], 1e-9, cfg["name"], n, "after the optimizer's steps written out")


# --------------------------------------------------------------------------------------- the files

def save(path, tensors, metadata):
    """Write a safetensors file: header length, JSON header, then the payload, in the order of the names."""
    header, payload = {"__metadata__": metadata}, b""
    for name in sorted(tensors):
        array = tensors[name].detach().contiguous().numpy()
        data = array.tobytes()
        header[name] = dict(dtype={"float64": "F64", "int64": "I64"}[str(array.dtype)], shape=list(array.shape),
                            data_offsets=[len(payload), len(payload) + len(data)])
        payload += data
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + payload)


def load(path):
    """Read what save wrote: (tensors, metadata)."""
    with open(path, "rb") as f:
        raw = f.read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, payload = json.loads(raw[8:8 + size]), raw[8 + size:]
    metadata, tensors = header.pop("__metadata__"), {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        array = np.frombuffer(payload[start:end], dtype={"F64": "<f8", "I64": "<i8"}[entry["dtype"]])
        tensors[name] = torch.from_numpy(array.copy()).reshape(entry["shape"])
    return tensors, metadata


def build(cfg):
    """Compute and check one fixture: (tensors, metadata, spread), where spread is how far a
    relative change of 1e-15 in the weights moves step3."""
    rng = np.random.RandomState(zlib.crc32(cfg["name"].encode()))  # RandomState: its streams are fixed for good
    weights, inputs = make_weights(cfg, rng), make_inputs(cfg, rng)
    grads, stepped = train(cfg, weights, inputs)
    with torch.no_grad():
        record = forward(cfg, weights, inputs)

    check_attention(cfg, weights, rng)
    check_tables(cfg, record)
    check_gradients(cfg, weights, inputs, grads, rng)
    check_optimizer(cfg, weights, inputs, stepped)
    for layer in range(cfg["layers"]):
        attn = record["attention/%d" % layer]
        expect_close(attn.sum(-1), torch.ones(attn.shape[:-1]).double(), 1e-14, cfg["name"],
            "attention rows do not sum to 1")
        expect(not cfg["causal"] or attn.triu(1).abs().max() == 0, cfg["name"], "looks ahead")
    shaken = {n: v * (1 + 1e-15 * torch.from_numpy(rng.choice([-1.0, 1.0], size=tuple(v.shape))))
        for n, v in weights.items()}
    spread = max((train(cfg, shaken, inputs)[1][n] - v).abs().max().item() for n, v in stepped.items())

    cfg = dict(cfg, trained=sorted(grads))
    tensors = {"input/" + name: v for name, v in inputs.items()}
    tensors.update({"w/" + name: v for name, v in weights.items()})
    tensors.update(record)
    tensors.update({"grad/" + name: v for name, v in grads.items()})
    tensors.update({"step3/" + name: v for name, v in stepped.items()})
    metadata = {key: value if isinstance(value, str) else json.dumps(value) for key, value in cfg.items()}
    metadata.update(config=json.dumps(cfg, sort_keys=True), generator="scripts/reference_model.py")
    return tensors, metadata, spread


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "testdata")
    parser = argparse.ArgumentParser(description="Reference model: writes and checks the fixtures of the Go model.")
    parser.add_argument("--out", default=default, help="folder of the fixtures (default models/testdata)")
    parser.add_argument("--only", help="only fixtures whose name contains this")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--verify", action="store_true", help="compare with the files in --out, write nothing")
    parser.add_argument("--d-model", type=int,
        help="width of every model (default 4, and 8 for 2d-fixed and two heads)")
    parser.add_argument("--batch", type=int,
        help="samples in every batch (default 4, and 3 for 2d-fixed and two heads)")
    args = parser.parse_args()
    torch.set_num_threads(1)

    which = [(f, s, "") for f in READINGS for s in SCHEMES] + list(VARIANTS)
    configs = [configuration(*key, d_model=args.d_model, batch=args.batch) for key in which]
    configs = sorted((c for c in configs if (args.only or "") in c["name"]), key=lambda c: c["name"])
    if args.list:
        print("\n".join(c["name"] for c in configs))
        return
    os.makedirs(args.out, exist_ok=True)
    total = 0
    for cfg in configs:
        path = os.path.join(args.out, cfg["name"] + ".safetensors")
        tensors, metadata, spread = build(cfg)
        if not args.verify:
            save(path, tensors, metadata)
        got, got_metadata = load(path)
        expect(set(got) == set(tensors) and got_metadata == metadata, cfg["name"],
            "holds other names or another configuration")
        for name, want in tensors.items():
            tolerance = 1e-8 if name.startswith("step3/") else 1e-11
            expect_close(got[name], want, tolerance if args.verify else 0, cfg["name"], name, "in the file")
        total += os.path.getsize(path)
        print("%-24s %4d tensors %7d bytes  loss %.6f  step3 moves by %.0e for 1e-15 in the weights" % (
            cfg["name"], len(tensors), os.path.getsize(path), tensors["loss"].item(), spread))
    print("%d fixtures, %d bytes: checks passed" % (len(configs), total))


if __name__ == "__main__":
    main()
