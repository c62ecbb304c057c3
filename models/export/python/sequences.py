import torch.nn.functional as F
from torch import nn

from transformer import Transformer


class Sequences(Transformer):
    """Says the symbol of each token: of the output's, or of the one that follows."""

    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(config["symbols"], config["d_model"])

    def forward(self, symbols, drawn=None):
        """Returns the logits [B, N, classes] of all tokens.

        symbols: int64 [B, N], N as in config.json.
        drawn: numbers [B, N], sorted, for an encoding of drawn positions; by default it draws them.
        """
        return self.head(self.encode(self.embed(symbols), drawn))

    def loss(self, symbols, targets, drawn=None):
        """Returns the mean cross-entropy of the classes targets [B, M] of the last M tokens."""
        logits = self(symbols, drawn)[:, -targets.shape[1]:]
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


Task = Sequences
