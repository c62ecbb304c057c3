import torch
import torch.nn.functional as F
from torch import nn

from transformer import Transformer


class Puzzles(Transformer):
    """Answers a puzzle with the symbol of its probe."""

    def __init__(self, config):
        super().__init__(config)
        if config["token_input"] == "embedding":
            self.embed = nn.Embedding(config["symbols"], config["d_model"])
        else:  # one-hot channels of all symbols but 0, the blank, which is all zeros
            self.embed = nn.Linear(config["symbols"] - 1, config["d_model"])

    def forward(self, symbols, probe=None, drawn=None):
        """Returns the logits [B, classes] of the answers; class c is the symbol c + 1.

        symbols: int64 [B, N], 0 for a blank, 1, 2, .. for symbols, the largest one for the probe.
        probe: int64 [B], the token of the probe; found in symbols by default.
        drawn: numbers [B, N], sorted, for an encoding of drawn positions; by default it draws them.
        """
        count = self.config["symbols"]
        if self.config["token_input"] == "embedding":
            x = self.embed(symbols)
        else:
            x = self.embed(F.one_hot(symbols, count)[..., 1:].to(self.embed.weight.dtype))
        x = self.encode(x, drawn)
        if self.config["read_out"] == "last":  # whatever the probe's place
            return self.head(x[:, -1])
        if probe is None:
            probe = (symbols == count - 1).long().argmax(1)
        return self.head(x[torch.arange(len(x), device=x.device), probe])

    def loss(self, symbols, answers, probe=None, drawn=None):
        """Returns the mean cross-entropy of answers [B], which are symbols from 1 on."""
        return F.cross_entropy(self(symbols, probe, drawn), answers - 1)


Task = Puzzles
