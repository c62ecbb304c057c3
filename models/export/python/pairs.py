def gather_pairs(x, index):
    """Picks numbers of the last axis of x [B, H, N, R] by index [N, N]: [B, H, N, N]."""
    return x.gather(-1, index.expand(*x.shape[:-1], index.shape[-1]))
