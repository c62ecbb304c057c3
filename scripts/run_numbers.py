"""Reads the numbers of records and results of torchpe, in their present form and in that of 0.1.0."""

# The keys of 0.1.0 with other names now; train/runlog/legacy.go has the same.
NAMES = {
    "train_accuracy": "train", "iid_accuracy": "iid", "validation_accuracy": "validation",
    "validation_by_condition": "validation", "validation_by_lines": "validation_lines",
    "accuracy_by_tokens": "tokens", "accuracy_by_tokens_and_condition": "tokens",
    "accuracy_by_length": "length", "perplexity_by_length": "perplexity", "loss_by_position": "position_loss",
    "noise_accuracy": "noise", "test_mse_by_mask": "test_mse",
    "modularity_by_block": "modularity", "clustering_by_block": "clustering",
    "moved": "pe_moved", "gradient_share": "pe_gradient_share", "disparity": "pe_disparity",
    "cosine": "pe_cosine", "start_cosine": "pe_start_cosine",
    "Binary": "1-vector", "Ternary": "2-vector", "Quaternary": "3-vector",
}
PLAIN = {"loss", "train_mse", "modularity", "clustering", "pe_norm", "pe_effective_rank", "tangent_alignment"}


def measures(line):
    """Returns the numbers of a record or of a member's result by their present keys, without nulls."""
    numbers = {}

    def add(key, value):
        if isinstance(value, dict):
            for part, inner in value.items():
                add("%s/%s" % (key, NAMES.get(part, part)), inner)
        elif isinstance(value, list):
            for i, inner in enumerate(value):
                add("%s/%d" % (key, i), inner)
        elif value is not None:
            numbers[key] = value

    if "measures" in line:
        for key, value in line["measures"].items():
            add(key, value)
        return numbers
    old = dict(line)
    old.update({k: v for k, v in (old.pop("pe_motion", None) or {}).items() if k != "map"})
    for key, value in old.items():
        if key in NAMES or key in PLAIN:
            add(NAMES.get(key, key), value)
    return numbers
