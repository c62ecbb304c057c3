"""Says of each exported model in a folder whether two passes differ: python3 draws.py DIR"""
import os
import sys

import torch

from compare import module_of

for name in sorted(os.listdir(sys.argv[1])):
    model = module_of(os.path.join(sys.argv[1], name)).load(os.path.join(sys.argv[1], name))
    symbols = torch.randint(0, 6, (4, 12))
    differ = {}
    for mode in "training", "evaluation":
        model.train(mode == "training")
        first, second = model(symbols), model(symbols)
        assert first.isfinite().all(), name
        differ[mode] = not torch.equal(first, second)
    print("%s: training %s evaluation %s" % (name, differ["training"], differ["evaluation"]))
