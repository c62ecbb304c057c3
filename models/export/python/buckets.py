import math

import torch


def bucket(offset, number, most, both):
    """Returns the bucket of offsets j - i: one each up to a distance, then logarithmic ranges up to
    most. both: half of the buckets are for keys after the query. Logarithms are rounded to float32, as
    in every public code: some offsets lie just on the border of two buckets."""
    half = number // 2 if both else number
    exact = half // 2
    first = half * (offset > 0) if both else 0
    distance = offset.abs() if both else (-offset).clamp(min=0)
    log = (distance.clamp(min=1).float() / exact).double().log().float()
    part = log / torch.tensor(math.log(most / exact)) * (half - exact)
    return first + torch.where(distance < exact, distance, (exact + part.long()).clamp(max=half - 1))
