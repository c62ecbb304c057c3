import torch

from encoding import Encoding, implements


def rotate(x, cos, sin, half):
    """Turns pairs (a, b) of x [..., 2P] to (a cos - b sin, a sin + b cos); cos and sin [..., P].
    Pairs are dimensions c and c + P where half, else 2c and 2c + 1."""
    if half:
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def turn(x, cos, sin, half, blocks=1):
    """Turns the first 2P dimensions of x [..., Dh], in blocks that are paired within themselves."""
    pairs = cos.shape[-1]
    first, rest = x[..., :2 * pairs], x[..., 2 * pairs:]
    if not half:
        blocks = 1  # neighbours stay neighbours across blocks
    parts = zip(first.chunk(blocks, -1), cos.chunk(blocks, -1), sin.chunk(blocks, -1))
    return torch.cat([rotate(*part, half) for part in parts] + [rest], -1)


@implements("rope", "rope-pi", "rope-ntk", "rope-yarn", "rope-llama3", "rope-longrope", "hope", "xpos")
class Rotary(Encoding):
    """q and k are turned by angles of their places.

    cos and sin [N, P]: of each place and pair of dimensions, times a factor where the scheme has one;
    key_cos and key_sin are those of keys where they differ.
    """

    def __init__(self, config, part):
        super().__init__(config, part)
        self.halves = self.options.get("rope-layout") == "half"
        self.blocks = 1

    def row_of_tokens(self):
        """Returns the tables' row for each token."""
        return self.place

    def qkv(self, a):
        rows = self.row_of_tokens()
        key_cos, key_sin = getattr(self, "key_cos", self.cos), getattr(self, "key_sin", self.sin)
        q = turn(a.q, self.cos[rows], self.sin[rows], self.halves, self.blocks)
        k = turn(a.k, key_cos[rows], key_sin[rows], self.halves, self.blocks)
        return q, k, a.v
