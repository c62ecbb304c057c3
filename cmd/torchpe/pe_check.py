"""Writes what `torchpe pe check` reads: NumPy, PyTorch and JAX arrays of your implementation, by name.

    from save_for_check import save
    save("mine.npz", q=q, k=k, q_out=rotated_q, k_out=rotated_k)   # [H, N, Dh] each

    torchpe pe check rope --against mine.npz

Names: what goes in is x [N, D], q, k, v [H, N, Dh] or [N, D]; what comes out is table [N, D], bias
[H, N, N], cos and sin [N, Dh/2], x_out, q_out, k_out, v_out, logits and weights [H, N, N]; and
"pe.NAME" is a trained parameter. Of a batch give one sample: q=q[0].
"""
import numpy


def save(path, **arrays):
    """Saves arrays of any library, in float64. Names with a dot go in as **{"pe.table": table}."""
    if not path.endswith(".npz"):
        raise ValueError("%r: the name of the file ends in .npz" % path)
    numpy.savez(path, **{name: to_numpy(a) for name, a in arrays.items()})


def to_numpy(a):
    if hasattr(a, "detach"):  # PyTorch, also on a GPU, and of types that NumPy lacks
        a = a.detach().cpu().double().numpy()
    return numpy.asarray(a, dtype=numpy.float64)
