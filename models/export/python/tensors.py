import math

import numpy
import numpy as np


def raw(x):
    """Returns the array of a tensor, also within tuples and lists."""
    if isinstance(x, (tuple, list)):
        return type(x)(raw(part) for part in x)
    return x.a if isinstance(x, Tensor) else x


class Tensor:
    """An array a with those methods of PyTorch's tensors that the encoding uses."""

    device = None

    def __init__(self, a):
        self.a = np.asarray(raw(a))

    data = property(lambda self: self)

    shape = property(lambda self: self.a.shape)

    dtype = property(lambda self: self.a.dtype)

    T = property(lambda self: Tensor(self.a.T))

    def __len__(self):
        return len(self.a)

    def __iter__(self):
        return (Tensor(part) for part in self.a)

    def __getitem__(self, key):
        return Tensor(self.a[raw(key)])

    def __setitem__(self, key, value):
        if hasattr(self.a, "at"):  # JAX's arrays do not change
            self.a = self.a.at[raw(key)].set(raw(value))
        else:
            self.a = np.array(self.a)
            self.a[raw(key)] = raw(value)

    def __neg__(self):
        return Tensor(-self.a)

    def copy_(self, value):
        self.a = value.a.reshape(self.a.shape)

    def item(self):
        return self.a.item()

    def tolist(self):
        return self.a.tolist()

    def detach(self):
        return self

    def to(self, _):
        return self

    def double(self):
        return Tensor(self.a.astype(np.float64))

    def float(self):
        return Tensor(self.a.astype(np.float32))

    def long(self):
        return Tensor(self.a.astype(np.int64))

    def abs(self):
        return Tensor(np.abs(self.a))

    def ceil(self):
        return Tensor(np.ceil(self.a))

    def cos(self):
        return Tensor(np.cos(self.a))

    def exp(self):
        return Tensor(np.exp(self.a))

    def floor(self):
        return Tensor(np.floor(self.a))

    def log(self):
        return Tensor(np.log(self.a))

    def log1p(self):
        return Tensor(np.log1p(self.a))

    def relu(self):
        return Tensor(np.maximum(self.a, 0))

    def sigmoid(self):
        return Tensor(np.exp(-np.logaddexp(0, -self.a)))

    def sign(self):
        return Tensor(np.sign(self.a))

    def sin(self):
        return Tensor(np.sin(self.a))

    def softmax(self, dim):
        powers = np.exp(self.a - self.a.max(dim, keepdims=True))
        return Tensor(powers / powers.sum(dim, keepdims=True))

    def sqrt(self):
        return Tensor(np.sqrt(self.a))

    def square(self):
        return Tensor(self.a * self.a)

    def clamp(self, min=None, max=None):
        return Tensor(np.clip(self.a, min, max))

    def masked_fill(self, where, value):
        return Tensor(np.where(where.a, value, self.a))

    def argsort(self):
        return Tensor(np.argsort(self.a))

    def sort(self):
        return Tensor(np.sort(self.a)), self.argsort()

    def cumsum(self, dim):
        return Tensor(np.cumsum(self.a, dim))

    def max(self, dim=None):
        return Tensor(self.a.max()) if dim is None else (Tensor(self.a.max(dim)), None)

    def min(self):
        return Tensor(self.a.min())

    def mean(self, dim=None, keepdim=False):
        return Tensor(self.a.mean(dim, keepdims=keepdim))

    def norm(self, dim, keepdim=False):
        return Tensor(np.sqrt((self.a * self.a).sum(dim, keepdims=keepdim)))

    def sum(self, dim=None, keepdim=False):
        return Tensor(self.a.sum(dim, keepdims=keepdim))

    def nonzero(self):
        return Tensor(np.stack(np.nonzero(self.a), -1))

    def unique(self, dim=None, return_inverse=False):
        values, inverse = np.unique(self.a, axis=dim, return_inverse=True)
        return Tensor(values), Tensor(inverse.reshape(-1))

    def gather(self, dim, index):
        return Tensor(np.take_along_axis(self.a, index.a, dim))

    def expand(self, *shape):
        return Tensor(np.broadcast_to(self.a, shape))

    def expand_as(self, other):
        return Tensor(np.broadcast_to(self.a, other.shape))

    def flip(self, dim):
        return Tensor(np.flip(self.a, dim))

    def tril(self, diagonal=0):
        return Tensor(np.tril(self.a, diagonal))

    def permute(self, *dims):
        return Tensor(self.a.transpose(dims))

    def transpose(self, first, second):
        return Tensor(np.swapaxes(self.a, first, second))

    def reshape(self, *shape):
        return Tensor(self.a.reshape(shape))

    def flatten(self, start):
        shape = self.a.shape
        return Tensor(self.a.reshape(shape[:start] + (-1,)))

    def unflatten(self, dim, sizes):
        return Tensor(self.a.reshape(self.a.shape[:-1] + tuple(sizes)))

    def unsqueeze(self, dim):
        return Tensor(np.expand_dims(self.a, dim))

    def squeeze(self, dim):
        return Tensor(np.squeeze(self.a, dim))

    def chunk(self, parts, dim):
        return tuple(Tensor(part) for part in np.array_split(self.a, parts, dim))

    def new_zeros(self, *shape):
        return Tensor(np.zeros(shape, self.a.dtype))


def operator(name):
    """Returns an operator of tensors: that of their arrays."""
    return lambda self, other: Tensor(getattr(self.a, name)(np.asarray(raw(other))))


for name in "add sub mul truediv mod pow matmul and radd rsub rmul rtruediv rpow gt ge lt le eq ne".split():
    setattr(Tensor, "__%s__" % name, operator("__%s__" % name))


class torch:
    """Those functions of PyTorch that the encoding uses."""

    float32 = np.float32

    float64 = np.float64

    long = np.int64

    class linalg:
        @staticmethod
        def solve_triangular(a, b, upper, unitriangular):
            return Tensor(np.linalg.solve(a.a, b.a))

    def tensor(value, dtype=None):
        if isinstance(value, float):  # as PyTorch has it
            dtype = np.float32
        return Tensor(np.asarray(value, dtype))

    def arange(*ends, dtype=None):
        return Tensor(np.arange(*ends, dtype=dtype))

    def zeros(*shape, dtype=None):
        return Tensor(np.zeros(shape[0] if len(shape) == 1 else shape, dtype))

    def zeros_like(x):
        return Tensor(np.zeros_like(x.a))

    def ones(*shape, dtype=None):
        return Tensor(np.ones(shape, dtype))

    def full(shape, value):
        return Tensor(np.full(shape, value))

    def eye(n, dtype=None, device=None):
        return Tensor(np.eye(n, dtype=dtype))

    def cat(parts, dim=0):
        return Tensor(np.concatenate([part.a for part in parts], dim))

    def stack(parts, dim=0):
        return Tensor(np.stack([part.a for part in parts], dim))

    def where(condition, x, y):
        return Tensor(np.where(condition.a, raw(x), raw(y)))

    def maximum(x, y):
        return Tensor(np.maximum(x.a, y.a))

    def log1p(x):
        return Tensor(np.log1p(x.a))

    def outer(x, y):
        return Tensor(np.outer(x.a, y.a))

    def einsum(formula, *parts):
        return Tensor(np.einsum(formula, *(part.a for part in parts)))

    def div(x, y, rounding_mode):
        return Tensor(x.a // y)

    def triu_indices(rows, columns, offset):
        return Tensor(np.stack(np.triu_indices(rows, offset, columns)))

    def matrix_exp(x):
        """The series of x/2^s, squared s times."""
        largest = float(np.abs(x.a).sum(-1).max()) if x.a.size else 0.0
        halvings = max(0, math.ceil(math.log2(max(largest, 1e-30))) + 3)
        small = x.a / 2.0 ** halvings
        power = total = np.broadcast_to(np.eye(x.a.shape[-1]), x.a.shape)
        for i in range(1, 16):
            power = power @ small / i
            total = total + power
        for _ in range(halvings):
            total = total @ total
        return Tensor(total)

    def rand(shape, dtype=None, device=None):
        return Tensor(numpy.random.random(shape))

    def rand_like(x):
        return Tensor(numpy.random.random(x.shape))

    def randperm(n):
        return Tensor(numpy.random.permutation(n))

    def finfo(dtype):
        return numpy.finfo(dtype)


class F:
    """Those functions of torch.nn.functional that the encoding uses."""

    def linear(x, weight, bias=None):
        y = x.a @ np.swapaxes(weight.a, -1, -2)
        return Tensor(y if bias is None else y + bias.a)

    def dropout(x, p, training=True):
        if p == 0 or not training:
            return x
        return Tensor(x.a * (numpy.random.random(x.shape) >= p) / (1 - p))

    def embedding(rows, table):
        return Tensor(table.a[rows.a])

    def gelu(x):
        erf = numpy.vectorize(math.erf)
        return Tensor(x.a * (1 + erf(x.a / math.sqrt(2))) / 2)

    def leaky_relu(x, slope):
        return Tensor(np.where(x.a > 0, x.a, slope * x.a))

    def silu(x):
        return Tensor(x.a * x.sigmoid().a)

    def softplus(x):
        return Tensor(np.logaddexp(0, x.a))

    def logsigmoid(x):
        return Tensor(-np.logaddexp(0, -x.a))

    def normalize(x, dim):
        return Tensor(x.a / np.maximum(x.norm(dim, True).a, 1e-12))

    def layer_norm(x, shape, weight, bias, eps):
        y = x.a - x.a.mean(-1, keepdims=True)
        return Tensor(y / np.sqrt((y * y).mean(-1, keepdims=True) + eps) * weight.a + bias.a)

    def pad(x, ends, value=0):
        return Tensor(np.pad(x.a, [(0, 0)] * (x.a.ndim - 1) + [ends], constant_values=value))

    def conv1d(x, weight, bias, padding, groups):
        """Of x [B, D, N] with weight [D, D/groups, taps]."""
        (d, each, taps), n = weight.shape, x.shape[-1] + 2 * padding - weight.shape[-1] + 1
        padded = np.pad(x.a, ((0, 0), (0, 0), (padding, padding)))
        windows = np.stack([padded[..., t:t + n] for t in range(taps)], -1)  # [B, D, n, taps]
        parts = [np.einsum("bint,oit->bon", part, w) for part, w in zip(
            np.split(windows, groups, 1), np.split(weight.a, groups))]
        return Tensor(np.concatenate(parts, 1) + bias.a[:, None])

    def conv2d(x, weight, bias, padding):
        """Of x [B, I, N, N] with weight [O, I, 1, taps]."""
        taps, side = weight.shape[-1], padding[1]
        padded = np.pad(x.a, ((0, 0), (0, 0), (0, 0), (side, side)))
        n = padded.shape[-1] - taps + 1
        windows = np.stack([padded[..., t:t + n] for t in range(taps)], -1)
        return Tensor(np.einsum("biqnt,oit->boqn", windows, weight.a[:, :, 0]) + bias.a[:, None, None])


class nn:
    """What an encoding is made of: its tensors are its attributes."""

    class Module:
        training = False

        def register_parameter(self, name, value):
            setattr(self, name, value)

        def register_buffer(self, name, value, persistent=True):
            setattr(self, name, value)

        def to(self, _):
            return self

    def Parameter(value):
        return value

    class ModuleDict(dict):
        training = False

        def to(self, _):
            return self
