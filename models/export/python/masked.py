import torch
from torch import nn

from transformer import Transformer


class Masked(Transformer):
    """Predicts the numbers of masked tokens from those of the others."""

    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Linear(1, config["d_model"])
        if config["mask_token"] == "learned":
            self.mask_token = nn.Parameter(torch.zeros(config["d_model"]))
        else:
            self.mask_token = None

    def forward(self, values, masked, drawn=None):
        """Returns the predicted numbers [B, N] of all tokens.

        values: numbers [B, N]; those of masked tokens are not looked at.
        masked: [B, N], true or 1 where a token is masked.
        drawn: numbers [B, N], sorted, for an encoding of drawn positions; by default it draws them.
        """
        masked = masked.to(values.dtype)[..., None]
        x = self.embed(values[..., None] * (1 - masked)) * (1 - masked)
        if self.mask_token is not None:
            x = x + masked * self.mask_token
        return self.head(self.encode(x, drawn)).squeeze(-1)

    def loss(self, values, masked, drawn=None):
        """Returns the mean squared error over all masked tokens of a batch."""
        errors = (self(values, masked, drawn) - values) * masked
        return errors.square().sum() / masked.sum()


Task = Masked
