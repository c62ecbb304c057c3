"""Computes what transformers does with positions in the models of testdata/checkpoints.json, and writes it
there, under "expected":

    python3 scripts/hf_encodings.py report/catalogue/testdata/checkpoints.json

Configurations and rotations are made by transformers' own classes, the biases by its own functions (Apache
2.0). It was run with the files of the commit that the file names. Each model has its configuration, of which
only the keys that concern positions are kept, with its source.

Of each layer the window of its attention is kept (0 for none), and the number of its rotation in
"rotations": inverse frequencies in float32, the factor of cosines and sines, and a query after it.
"""
import copy
import importlib
import json
import sys

import torch

def rounded(numbers):
    """Returns float32 numbers with the digits that they have."""
    return [float("%.9g" % number) for number in numbers]


def classes(folder):
    """Returns the class of a family's configuration, that of its rotation or None, and its module."""
    configurations = importlib.import_module("transformers.models.%s.configuration_%s" % (folder, folder))
    modeling = importlib.import_module("transformers.models.%s.modeling_%s" % (folder, folder))

    def named(module, end):
        by_name = {name.lower().replace("_", ""): name for name in vars(module)}
        for middle in ("text", ""):  # models with images have a class for each
            if folder.replace("_", "") + middle + end in by_name:
                return getattr(module, by_name[folder.replace("_", "") + middle + end])
        return None

    return named(configurations, "config"), named(modeling, "rotaryembedding"), modeling


def rotation(rotary, kind, tokens, modeling, config):
    """Returns the numbers of a rotary module for so many tokens: inverse frequencies, the factor, and a query
    at position 1 after it, which was 1, 1.1, 1.2, ... in the dimensions that are turned."""
    places = torch.arange(tokens)[None]
    if hasattr(modeling, "apply_multimodal_rotary_pos_emb"):  # the three coordinates of text are the same
        places = places.expand(3, 1, tokens)
    by_kind = isinstance(rotary.rope_type, dict)
    tables = rotary(torch.zeros(1), places, *[kind] * by_kind)
    prefix = kind + "_" if by_kind else ""
    frequencies = getattr(rotary, prefix + "inv_freq")
    query = 1 + torch.arange(2 * len(frequencies))[None, None, None] / 10
    if hasattr(modeling, "apply_rotary_emb"):
        turned = modeling.apply_rotary_emb(query, query, tables[:, 1:2])[0]
    elif hasattr(modeling, "apply_multimodal_rotary_pos_emb"):
        cos, sin = (table[:, :, 1:2] for table in tables)
        sections = config.rope_parameters["mrope_section"]
        turned = modeling.apply_multimodal_rotary_pos_emb(query, query, cos, sin, sections)[0]
    else:
        apply = modeling.apply_rotary_pos_emb
        if getattr(config, "rope_interleave", False):  # of DeepSeek, which then keeps even and odd ones apart
            apply = modeling.apply_rotary_pos_emb_interleave
        cos, sin = (table[:, 1:2] for table in tables)
        two = "k" in apply.__code__.co_varnames
        turned = apply(query, query, cos, sin)[0] if two else apply(query, cos, sin)
    factor = float(getattr(rotary, prefix + "attention_scaling"))
    return frequencies.tolist(), factor, turned.flatten().tolist()


def layers_of(folder, config):
    """Returns for each layer its type, its window, and whether it turns queries and keys."""
    n = config.num_hidden_layers
    kinds = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None) or 0
    if kinds is None:  # the mask of all layers has the window
        return [("full_attention", window, True)] * n
    turns = [True] * n
    if folder in ("smollm3", "llama4"):
        turns = [bool(use) for use in config.no_rope_layers]
    if folder == "cohere2" or folder == "exaone4" and window:
        turns = [kind == "sliding_attention" for kind in kinds]
    # A token of a bidirectional model attends to tokens at most this far away, else to tokens less far away.
    more = 1 if folder == "modernbert" else 0
    return [(kind, window + more if kind == "sliding_attention" else 0, turn)
            for kind, turn in zip(kinds, turns)]


def expected(model):
    """Returns what transformers does with a model's configuration."""
    given = copy.deepcopy(model["config"].get("text_config", model["config"]))  # which they change
    folder = given["model_type"].replace("_text", "")
    make, rotary, modeling = classes(folder)
    config = make(**{key: value for key, value in given.items() if key != "model_type"})
    tokens = model["tokens"]
    found = {}
    if folder in ("gptj", "codegen"):
        table = modeling.create_sinusoidal_positions(2, config.rotary_dim)[1].double()
        sin, cos = table.float()[None, None].chunk(2, -1)
        query = 1 + torch.arange(config.rotary_dim)[None, None, None] / 10
        found["rotations"] = [{"inv_freq": torch.atan2(*table.chunk(2)).tolist(), "factor": 1.0,
                               "query": modeling.apply_rotary_pos_emb(query, sin, cos).flatten().tolist()}]
        found["layers"] = [{"window": 0, "rotation": 0}] * config.n_layer
    elif folder in ("bloom", "mpt") or folder == "falcon" and config.alibi:
        heads = config.n_heads if folder == "mpt" else config.num_attention_heads
        if folder == "mpt":
            bias = modeling.build_mpt_alibi_tensor(heads, tokens)  # as its own code calls it
        else:
            bias = modeling.build_alibi_tensor(torch.ones(1, tokens), heads, torch.float32)
        if folder == "falcon":  # which divides it as the logits
            bias = bias / config.head_dim ** 0.5
        # Only the part of each key: the softmax drops what depends only on the query.
        found["bias"] = [rounded(row) for row in bias.reshape(heads, tokens).tolist()]
    elif folder == "t5":
        offsets = torch.arange(tokens)[None] - torch.arange(tokens)[:, None]
        bucket = modeling.T5Attention._relative_position_bucket
        found["buckets"] = bucket(offsets, True, config.relative_attention_num_buckets,
                                  config.relative_attention_max_distance).tolist()
    elif rotary is not None:
        found["layers"], found["rotations"] = [], []
        module = rotary(config)
        for kind, window, turns in layers_of(folder, config):
            layer = {"window": window}
            if turns:
                frequencies, factor, turned = rotation(module, kind, tokens, modeling, config)
                turn = {"inv_freq": rounded(frequencies), "factor": factor, "query": rounded(turned)}
                if turn not in found["rotations"]:
                    found["rotations"].append(turn)
                layer["rotation"] = found["rotations"].index(turn)
            if kind == "chunked_attention":
                layer["chunk"] = config.attention_chunk_size
            found["layers"].append(layer)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as f:
        all_models = json.load(f)
    for model in all_models["models"]:
        model["expected"] = expected(model)
    lines = ",\n".join("  " + json.dumps(model) for model in all_models.pop("models"))
    head = json.dumps(all_models, indent=1)[:-2]
    with open(sys.argv[1], "w") as f:
        f.write(head + ',\n "models": [\n' + lines + "\n ]\n}\n")


if __name__ == "__main__":
    main()
