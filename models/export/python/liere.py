import torch

from encoding import Encoding, implements


@implements("liere")
class LieRE(Encoding):
    """Blocks of g dimensions of q and k are turned by exp(sum over a of x_a A_a), A_a skew: skew
    [M, H or 1, blocks, g(g-1)/2], rows of the upper triangle, for coordinates places [N, M]."""

    def turns(self):
        """Returns the matrices [H or 1, N, blocks, g, g]."""
        numbers = torch.einsum("nm,mhbt->hnbt", self.places[self.place], self.skew)
        g = min(int(self.options["liere-block"]), self.head_width)
        upper = numbers.new_zeros(*numbers.shape[:-1], g, g)
        row, column = torch.triu_indices(g, g, 1)
        upper[..., row, column] = numbers
        return torch.matrix_exp(upper - upper.transpose(-1, -2))

    def qkv(self, a):
        turns = self.turns()
        blocks, g = turns.shape[-3], turns.shape[-1]

        def turned(x):
            first = x[..., :blocks * g].unflatten(-1, (blocks, g, 1))
            return torch.cat(((turns @ first).flatten(-3), x[..., blocks * g:]), -1)

        return turned(a.q), turned(a.k), a.v
