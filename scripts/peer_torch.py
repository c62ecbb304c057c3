#!/usr/bin/env python3
"""The PyTorch peer: the paper's model with a learned positional encoding as a researcher would
write it, timed, or trained for its accuracy.

Time of one training step (forward, backward, Adam), float32, the published code's reading, one model:

    python3 scripts/peer_torch.py --preset lst                                  as installed
    OPENBLAS_CORETYPE=SkylakeX python3 scripts/peer_torch.py --preset lst
        a fair CPU baseline on Debian 12, see below
    python3 scripts/peer_torch.py --preset lst --device cuda --steps 500
        one GPU; also with --adam fused, --tf32, --bf16

PyTorch at its best on a GPU, from the least to the most work for whoever writes it:

    ... --device cuda --compile reduce-overhead --adam fused --tf32
        torch.compile with CUDA graphs of its own
    ... --device cuda --graph --adam fused --tf32 [--compile default]           the whole step in one CUDA graph by hand
    ... --device cuda --members 15 --graph ...
        15 models stacked with torch.func, one step for all

Debian 12's OpenBLAS 0.3.21 does not know newer Intel CPUs and falls back to its SSE3 kernels, which
it calls Prescott; the output's "blas_kernel" says which ones ran. Report both: the first is what a
user gets, the second what PyTorch can do. PyTorch wheels bring MKL and do not need it.

Accuracy, on the published puzzles (DIR holds puzzle_data_original.csv and
generated_puzzle_data_{binary,ternary,quaternary}_dist80.csv):

    python3 scripts/peer_torch.py --train 24 --sigma 0.2 --lr 1e-4 --seed 1 --lst DIR [--fidelity code|text]

prints a line an epoch. "train" is the running mean over the epoch while the weights move, as the
published code counts it; "test" the held-out 10 %, drawn by condition; "validation" the 108
original puzzles. Nothing here is tuned against the Go program: PyTorch's own modules and defaults,
gradients set to None, data prepared once and kept on the device, no read-back in the loop (on a GPU
one synchronisation in 20 steps). The published code also recomputes every block in the backward
pass (checkpoint_sequential); that is slower and changes no number, so it is left out.

--fidelity code: blanks are all-zero one-hot tokens into a linear map, a table of its own added in
every block, the last token read out. --fidelity text: six embedded symbols, one table added once at
the input, the probe's token read out. How large the embedded symbols start is nowhere stated and
changes how fast it learns: nn.Embedding's N(0, 1) drowns a table of sigma 0.2 for many epochs;
--embedding-sd 0.25 or --token-input one-hot (whose columns have about that size) does not. Works
with PyTorch 1.13 and newer.
"""
import argparse
import csv
import ctypes
import json
import os
import statistics
import sys
import time

PRESETS = {
    "lst": dict(d_model=160, layers=4, heads=1, batch=128, tokens=16),
    "quick": dict(d_model=64, layers=4, heads=1, batch=128, tokens=16),
    "nmar": dict(d_model=64, layers=4, heads=1, batch=128, tokens=15),
    "fmri": dict(d_model=64, layers=4, heads=1, batch=32, tokens=360),
}
MASKED = ("nmar", "fmri")  # masked prediction: numbers in, half of them masked, their mean squared error
CLASSES, PROBE = 4, 5
CHUNK = 20  # GPU steps between two readings of the clock


def parse_flags():
    p = argparse.ArgumentParser(description="PyTorch peer of the Go program: step time, or accuracy with --train.")
    p.add_argument("--preset", choices=sorted(PRESETS), default="lst",
        help="lst: d_model 160 as in the paper; quick: 64; nmar: masked prediction on 15 nodes; "
        "fmri: on 360 parcels, batch 32")
    p.add_argument("--steps", type=int, default=30, help="measured steps (default 30)")
    p.add_argument("--warmup", type=int, default=5, help="steps before the clock starts (default 5)")
    p.add_argument("--warmup-seconds", type=float, default=0,
        help="and more of these until so many seconds have passed")
    p.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    p.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    p.add_argument("--json", action="store_true", help="print one JSON object (with --train: one a line)")
    p.add_argument("--compile", nargs="?", const="default", metavar="MODE",
        help="torch.compile the model (PyTorch 2): default, reduce-overhead, max-autotune...")
    p.add_argument("--graph", action="store_true",
        help="record forward, backward and Adam as one CUDA graph and replay it")
    p.add_argument("--members", type=int, metavar="E",
        help="stack E models with torch.func and train them in one step (PyTorch 2)")
    p.add_argument("--batch", type=int, help="examples per step of each model")
    p.add_argument("--bf16", action="store_true", help="autocast the forward pass to bfloat16")
    p.add_argument("--adam", choices=["default", "foreach", "fused"], default="default",
        help="implementation of the optimizer")
    p.add_argument("--tf32", action="store_true", help="allow TF32 products on the GPU")
    p.add_argument("--fidelity", choices=["code", "text"], default="code")
    p.add_argument("--token-input", choices=["one-hot", "embedding"],
        help="overrides the reading's (code: one-hot, text: embedding)")
    p.add_argument("--embedding-sd", type=float, default=1.0,
        help="of embedded symbols at the start (default 1, as nn.Embedding)")
    p.add_argument("--train", type=int, metavar="EPOCHS", help="train on the published puzzles for this many epochs")
    p.add_argument("--sigma", type=float, default=0.2,
        help="standard deviation of the initial positional encoding (default 0.2)")
    p.add_argument("--lr", type=float, default=1e-4, help="Adam's learning rate (default 1e-4)")
    p.add_argument("--seed", type=int, default=1, help="seed of weights and data order (default 1)")
    p.add_argument("--lst", metavar="DIR", help="folder of the published CSV files")
    args = p.parse_args()
    if args.train is not None and not args.lst:
        p.error("--train needs --lst DIR, the folder of the published CSV files")
    if args.train is not None and args.preset in MASKED:
        p.error("--train is of puzzles: --preset lst or quick")
    args.token_input = args.token_input or {"code": "one-hot", "text": "embedding"}[args.fidelity]
    if args.members is not None and (args.members < 1 or args.train is not None):
        p.error("--members takes a number of models from 1, and is not for --train")
    if args.graph and (not args.device.startswith("cuda") or args.train is not None):
        p.error("--graph needs --device cuda, and is not for --train")
    if args.batch is not None:
        PRESETS[args.preset]["batch"] = args.batch
    if args.steps < 1 or args.warmup < 0 or not 0 <= args.warmup_seconds <= 3600 or args.threads < 1:
        p.error("--steps and --threads must be at least 1, --warmup at least 0, --warmup-seconds 0 to 3600")
    return args


args = parse_flags()
TOKENS = PRESETS[args.preset]["tokens"]
# An OpenBLAS with its own threads ignores torch.set_num_threads: set its number before it is loaded.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(args.threads)

import numpy as np
import torch
from torch import nn


# --------------------------------------------------------------------------------------- the model

class Block(nn.Module):
    def __init__(self, d_model, heads, sigma, has_table):
        super().__init__()
        self.pe = nn.Parameter(sigma * torch.randn(TOKENS, d_model)) if has_table else None
        self.attention = nn.MultiheadAttention(d_model, heads, batch_first=True)
        self.norm1 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model), nn.GELU())
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x):
        if self.pe is not None:
            x = x + self.pe
        a, _ = self.attention(x, x, x, need_weights=False)
        x = self.norm1(a + x)
        return self.norm2(self.mlp(x) + x)


class Encoder(nn.Module):
    """Tokens [B, 16, 5] one-hot or symbols [B, 16], and the index of the token to read in the
    text's reading [B], to logits [B, 4]."""

    def __init__(self, d_model, layers, heads, sigma, fidelity, token_input):
        super().__init__()
        self.code = fidelity == "code"
        self.embed = nn.Linear(5, d_model) if token_input == "one-hot" else nn.Embedding(6, d_model)
        self.blocks = nn.Sequential(*[Block(d_model, heads, sigma, self.code or i == 0) for i in range(layers)])
        self.head = nn.Linear(d_model, CLASSES)

    def forward(self, x, probe):
        x = self.blocks(self.embed(x))
        x = x[:, -1] if self.code else x[torch.arange(len(x), device=x.device), probe]
        return self.head(x)


class MaskedEncoder(nn.Module):
    """Numbers [B, N] and which of them are masked [B, N] to predictions [B, N]."""

    def __init__(self, d_model, layers, heads, sigma, fidelity):
        super().__init__()
        self.embed = nn.Linear(1, d_model)
        self.mask = nn.Parameter(0.02 * torch.randn(d_model))
        self.blocks = nn.Sequential(*[Block(d_model, heads, sigma, fidelity == "code" or i == 0)
            for i in range(layers)])
        self.head = nn.Linear(d_model, 1)

    def forward(self, x, masked):
        x = torch.where(masked.unsqueeze(-1), self.mask, self.embed(x.unsqueeze(-1)))
        return self.head(self.blocks(x)).squeeze(-1)


def masked_loss(predicted, masked, target):
    """Mean squared error over masked numbers; the count is the same for all samples. Indexing by a
    mask would wait for the GPU."""
    return ((predicted - target).square() * masked).sum() / masked.sum()


def model_inputs(symbols, device):
    """(what the model takes, the probe's index) from symbols [B, 16] in 0..5."""
    probe = (symbols == PROBE).long().argmax(dim=1).to(device)
    if args.token_input == "embedding":
        return symbols.to(device), probe
    return nn.functional.one_hot(symbols, 6)[..., 1:].float().to(device), probe  # a blank is all zeros


def build(device):
    preset = PRESETS[args.preset]
    torch.manual_seed(args.seed)
    if args.preset in MASKED:
        model = MaskedEncoder(preset["d_model"], preset["layers"], preset["heads"], args.sigma, args.fidelity)
    else:
        model = Encoder(preset["d_model"], preset["layers"], preset["heads"], args.sigma,
            args.fidelity, args.token_input)
    if args.preset not in MASKED and args.token_input == "embedding":
        model.embed.weight.data.mul_(args.embedding_sd)
    model.to(device)
    parameters = list(model.parameters())
    if args.members is not None:
        model = Stack(model)
        parameters = list(model.stacked.values())
    options = {} if args.adam == "default" else {args.adam: True}
    if args.graph:
        options["capturable"] = True
    optimizer = torch.optim.Adam(parameters, lr=args.lr, **options)
    return (torch.compile(model, mode=args.compile) if args.compile else model), optimizer


class Stack(nn.Module):
    """E models of one kind as one, by torch.func: every parameter has a leading axis E, and so has the batch."""

    def __init__(self, model):
        super().__init__()
        self.template = [model]  # in a list, so that its parameters are not this module's
        self.stacked = {}
        for name, value in model.named_parameters():  # the same start for all: only time is measured
            self.stacked[name] = nn.Parameter(value.detach().unsqueeze(0).repeat(args.members, *[1] * value.dim()))
            self.register_parameter(name.replace(".", "_"), self.stacked[name])

    def forward(self, *inputs):
        def one(parameters, *x):
            return torch.func.functional_call(self.template[0], parameters, x)
        return torch.func.vmap(one)(self.stacked, *inputs)


def total_loss(loss_function, predicted, probe, target):
    """Of all members: the sum of their means, whose gradient is each member's own."""
    if args.members is None:
        return masked_loss(predicted, probe, target) if args.preset in MASKED else loss_function(predicted, target)
    if args.preset in MASKED:
        return masked_loss(predicted, probe, target) * args.members
    return loss_function(predicted.flatten(0, 1), target.flatten()) * args.members


def train_step(model, optimizer, loss_function, x, probe, target):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=args.bf16):
        logits = model(x, probe)
    loss = total_loss(loss_function, logits.float(), probe, target)
    loss.backward()
    optimizer.step()
    return logits


def recorded(model, optimizer, loss_function, first):
    """train_step as one CUDA graph, on inputs at fixed places. Gradients are None when it is recorded,
    so that the backward pass writes them and no step clears or adds to them."""
    places = [t.clone() for t in first]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            train_step(model, optimizer, loss_function, *places)
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        train_step(model, optimizer, loss_function, *places)

    def step(*batch):
        for place, value in zip(places, batch):
            place.copy_(value)
        graph.replay()
    return step


# ---------------------------------------------------------------------------------------- the time

def random_batches(count, batch, device):
    """Puzzle-like batches: 16 symbols, about half of them blank, one probe, targets at random. Or
    numbers with half of them masked."""
    g = torch.Generator().manual_seed(args.seed)
    batches = []
    for _ in range(count):
        if args.preset in MASKED:
            x = torch.randn(batch, TOKENS, generator=g).to(device)
            masked = (torch.rand(batch, TOKENS, generator=g).argsort(1) < round(TOKENS / 2)).to(device)
            batches.append((x, masked, x))
            continue
        symbols = torch.randint(1, 5, (batch, TOKENS), generator=g) * (torch.rand(batch, TOKENS, generator=g) < 0.5)
        symbols[torch.arange(batch), torch.randint(TOKENS, (batch,), generator=g)] = PROBE
        target = torch.randint(CLASSES, (batch,), generator=g).to(device)
        batches.append((*model_inputs(symbols, device), target))
    return batches


def blas_kernel():
    """What OpenBLAS calls the kernels that it uses; "mkl" for a PyTorch with MKL."""
    if torch.backends.mkl.is_available():
        return "mkl"
    candidates = [None]  # the process itself, then every OpenBLAS that it has mapped
    try:
        with open("/proc/self/maps") as maps:
            candidates += sorted({line.split()[-1] for line in maps if "blas" in line.lower() and ".so" in line})
    except OSError:
        pass
    for path in candidates:
        try:
            corename = ctypes.CDLL(path).openblas_get_corename
        except (OSError, AttributeError):
            continue
        corename.restype = ctypes.c_char_p
        return corename().decode()
    return os.environ.get("OPENBLAS_CORETYPE", "unknown")


def peak_rss_mb():
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2 ** 20 if sys.platform == "darwin" else 2 ** 10), 1)  # Linux counts KiB, macOS bytes


def measure(device):
    model, optimizer = build(device)
    loss_function = nn.CrossEntropyLoss()
    batch = PRESETS[args.preset]["batch"]
    batches = random_batches(16, batch, device)
    if args.members is not None:  # each member its own examples
        batches = [tuple(torch.stack([batches[(i + m) % 16][part] for m in range(args.members)])
            for part in range(3)) for i in range(16)]
    gpu = device.type == "cuda"
    if gpu and args.members is not None and TOKENS <= 32:
        # In PyTorch 2.11 its backward pass fails for stacked models: "LSE is not correctly aligned".
        torch.backends.cuda.enable_mem_efficient_sdp(False)
    # On a GPU the host runs ahead and a synchronisation per step would count as part of the step: read
    # the clock once per CHUNK steps.
    chunk = min(CHUNK, args.steps) if gpu else 1
    if args.graph:
        step = recorded(model, optimizer, loss_function, batches[0])
    else:
        def step(*batch):
            train_step(model, optimizer, loss_function, *batch)

    def run(steps, first=0):
        for i in range(first, first + steps):
            step(*batches[i % len(batches)])
        if gpu:
            torch.cuda.synchronize(device)

    start = time.perf_counter()
    run(args.warmup)
    while time.perf_counter() - start < args.warmup_seconds:
        run(chunk)
    times, done = [], 0
    while done < args.steps:
        start = time.perf_counter()
        run(chunk, done)
        times.append((time.perf_counter() - start) * 1e3 / chunk)
        done += chunk
    result = dict(
        preset=args.preset, fidelity=args.fidelity, device=torch.cuda.get_device_name(device)
        if gpu else "cpu", threads=args.threads, batch=batch,
        steps=done, step_ms_median=round(statistics.median(times), 4),
        step_ms_min=round(min(times), 4), peak_rss_mb=peak_rss_mb(),
        torch=torch.__version__, blas_kernel=blas_kernel(),
        cpu_capability=torch.backends.cpu.get_cpu_capability()
        if hasattr(torch.backends, "cpu") else "unknown", compiled=args.compile or False,
        adam=args.adam, tf32=bool(gpu and args.tf32),
        bf16=args.bf16, graph=args.graph, members=args.members or 1,
        parameters=sum(p.numel() for p in model.parameters()))
    if args.compile:  # a break leaves what is before and behind it to plain PyTorch
        from torch._dynamo.utils import counters
        result["graphs"] = counters["stats"]["unique_graphs"]
        result["graph_breaks"] = sum(counters["graph_break"].values())
        for reason, n in counters["graph_break"].items():
            print("peer_torch.py: %d graph breaks: %s" % (n, reason), file=sys.stderr)
    if gpu:
        result["peak_gpu_mb"] = round(torch.cuda.max_memory_allocated(device) / 2 ** 20, 1)
    if args.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print("%-16s %s" % (key, value))


# ------------------------------------------------------------------------------------ the accuracy

def read_puzzles(path):
    """(symbols [n, 16], answers [n] in 0..3) of one CSV file."""
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    symbols = torch.tensor([[int(c) for c in row["puzzles"]] for row in rows])
    return symbols, torch.tensor([int(row["solutions"]) - 1 for row in rows])


def load_puzzles(folder, device):
    """{"train": 8,100 puzzles, "test": 900, "validation": 108}, each (inputs, probe, target) on the device."""
    rng = np.random.RandomState(42)  # the split is the same for every --seed
    parts = {"train": [], "test": []}
    for condition in ("binary", "ternary", "quaternary"):
        symbols, target = read_puzzles(os.path.join(folder, "generated_puzzle_data_%s_dist80.csv" % condition))
        order = torch.from_numpy(rng.permutation(len(symbols)))
        held_out = len(order) // 10
        parts["test"].append((symbols[order[:held_out]], target[order[:held_out]]))
        parts["train"].append((symbols[order[held_out:]], target[order[held_out:]]))
    sets = {name: tuple(torch.cat(tensors) for tensors in zip(*pairs)) for name, pairs in parts.items()}
    sets["validation"] = read_puzzles(os.path.join(folder, "puzzle_data_original.csv"))
    return {name: (*model_inputs(symbols, device), target.to(device)) for name, (symbols, target) in sets.items()}


def train(device):
    sets = load_puzzles(args.lst, device)
    model, optimizer = build(device)
    loss_function = nn.CrossEntropyLoss()
    batch = PRESETS[args.preset]["batch"]
    x, probe, target = sets["train"]

    def accuracy(name):
        inputs, at, want = sets[name]
        model.eval()
        with torch.no_grad():
            right = (model(inputs, at).argmax(dim=1) == want).float().mean().item()
        model.train()
        return right

    for epoch in range(1, args.train + 1):
        start, right = time.perf_counter(), torch.zeros((), dtype=torch.long, device=device)
        for rows in torch.randperm(len(target)).to(device).split(batch):
            logits = train_step(model, optimizer, loss_function, x[rows], probe[rows], target[rows])
            right += (logits.detach().argmax(dim=1) == target[rows]).sum()
        record = dict(epoch=epoch, train=round(right.item() / len(target), 4))
        seconds = time.perf_counter() - start
        record.update(test=round(accuracy("test"), 4), validation=round(accuracy("validation"), 4),
            seconds=round(seconds, 2))
        config = dict(fidelity=args.fidelity, token_input=args.token_input, sigma=args.sigma,
            lr=args.lr, seed=args.seed)
        print(json.dumps(dict(config, **record)) if args.json else
              "epoch %(epoch)d  train %(train).4f  test %(test).4f  "
              "validation %(validation).4f  %(seconds).1f s" % record, flush=True)


def main():
    torch.set_num_threads(args.threads)
    if args.tf32:
        torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device(args.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("peer_torch.py: --device %s: this PyTorch %s sees no CUDA device" % (args.device, torch.__version__))
    if args.compile and not hasattr(torch, "compile"):
        sys.exit("peer_torch.py: --compile needs PyTorch 2, this is %s" % torch.__version__)
    if args.train is not None:
        train(device)
    else:
        measure(device)


if __name__ == "__main__":
    main()
