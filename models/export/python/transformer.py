import torch
import torch.nn.functional as F
from torch import nn

from encoding import ENCODINGS, Attn, mask_of


class Block(nn.Module):
    """One layer, with layer norm after each sum:

    x <- embed(x) of the encoding;  x <- norm1(x + attention(x))
    x <- norm2(x + GELU(mlp_out(GELU(mlp_in(x))))),  GELU the exact one, with erf
    """

    def __init__(self, config, layer):
        super().__init__()
        d, ff, attention = config["d_model"], config["d_ff"], config["attention"][layer]
        self.heads, self.dropout = config["heads"], config["dropout"]
        self.scale, self.temperature = attention["scale"], attention["temperature"]
        self.qkv = nn.Linear(d, 3 * d, bias=attention["bias"])  # rows of q, then k, then v
        self.out = None
        if attention["output_projection"]:
            self.out = nn.Linear(d, d, bias=attention["bias"])
        self.register_buffer("mask", mask_of(config["positions"]["index"], attention), persistent=False)
        self.norm1, self.norm2 = nn.LayerNorm(d, eps=1e-5), nn.LayerNorm(d, eps=1e-5)
        self.mlp_in, self.mlp_out = nn.Linear(d, ff), nn.Linear(ff, d)

    def project(self, x):
        """Maps [B, N, D] to queries, keys and values [B, H, N, Dh]."""
        b, n, d = x.shape
        return self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)

    def forward(self, x, layer, pe):
        x = F.dropout(pe.embed(layer, x), self.dropout, self.training)
        a = Attn(layer, x, self.scale, self.project)
        a.q, a.k, a.v = pe.qkv(a)
        logits = pe.logits(a, a.q @ a.k.transpose(-1, -2) * a.scale) / self.temperature
        if self.mask is not None:
            logits = logits + self.mask
        weights = F.dropout(logits.softmax(-1), self.dropout, self.training)
        heads = pe.output(a, weights, weights @ a.v)
        y = heads.transpose(1, 2).reshape(x.shape)
        if self.out is not None:
            y = self.out(y)
        x = self.norm1(x + y)
        return self.norm2(x + F.gelu(self.mlp_out(F.gelu(self.mlp_in(x)))))


class Transformer(nn.Module):
    """Blocks with their positional encoding pe, and the linear map head of what is read."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        parts = config["encodings"]
        if "label" in parts[0]:
            self.pe = ENCODINGS["+"](config, parts)
        else:
            self.pe = ENCODINGS[parts[0]["scheme"]](config, parts[0])
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config["layers"]))
        self.head = nn.Linear(config["d_model"], config["classes"])

    def encode(self, x, drawn=None):
        """Maps the embedded tokens [B, N, D] to the output of the last block, [B, N, D]."""
        self.pe.begin(len(x), drawn)
        for layer, block in enumerate(self.blocks):
            x = block(x, layer, self.pe)
        return x
