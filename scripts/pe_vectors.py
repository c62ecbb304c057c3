"""Adds cases to models/pe/vectors/vectors.safetensors and manifest.json, the reference vectors that
ship with torchpe, of folders of JSON files as the tests of models/pe read them:

    python3 scripts/pe_vectors.py FOLDER... models/pe/vectors

A case takes the place of one of the same scheme and name. It ships where the licence of the
repository whose code made it allows commercial use. Those that do not ship are listed with the
reason. Numbers are float32 where that loses nothing, else float64.
"""
import glob
import json
import os
import struct
import sys

NO_ENCODINGS = "moran_randomization", "spin_test"  # null models, which start no encoding

# The licence of each repository at the commit of the case (of SakanaAI/repo, that of its folders
# transformers and OLMo); those without one are not in this list.
LICENCES = {
    "Apache-2.0": """EleutherAI/gpt-neox NVIDIA/NeMo SakanaAI/repo Wan-Video/Wan2.1
        black-forest-labs/flux chijames/KERPLE chuanyang-Zheng/DAPE
        facebookresearch/detr google-deepmind/deepmind-research
        google-deepmind/randomized_positional_encodings fwerkor/transformers
        huggingface/pytorch-image-models huggingface/transformers kimiyoung/transformer-xl
        model-architectures/GRAPE openai/gpt-oss timurcarstensen/selective-rope""",
    "BSD-3-Clause": """MICA-MNI/BrainSpace meta-pytorch/attention-gym pytorch/pytorch
        salesforce/ALBEF soda-inria/tabicl""",
    "MIT": """0-5788719150923125/praxis 10-zin/Synthesizer JJJYmmm/Multimodal-RoPEs
        LiamMa/GRIT StanfordMIMI/LieRE antofuller/CROMA facebookresearch/RAM facebookresearch/fairseq
        fla-org/flash-linear-attention gcambara/cape graphdeeplearning/graphtransformer
        guolinke/TUPE imics-lab/positional-encoding-benchmark jquesnelle/yarn
        kentridgeai/Tab-PET ljhearne/LSTNN_public
        lucidrains/PoPE-pytorch lucidrains/axial-positional-embedding
        lucidrains/rotary-embedding-torch lucidrains/vit-pytorch lucidrains/x-transformers
        mcleish7/arithmetic microsoft/DeBERTa microsoft/Graphormer microsoft/LongRoPE
        microsoft/Swin-Transformer microsoft/torchscale neuraloperator/neuraloperator
        ofirpress/attention_with_linear_biases rampasek/GraphGPS tancik/fourier-feature-networks
        tatp22/multidim-positional-encoding willGuimont/learnable_fourier_positional_encoding
        zhenyuhe00/BiPE""",
}
LICENCE = {repo: name for name, repos in LICENCES.items() for repo in repos.split()}
REFUSED = {
    "facebookresearch/TimeSformer": "CC-BY-NC-4.0 forbids commercial use",
    "facebookresearch/mae": "CC-BY-NC-4.0 forbids commercial use",
    "MCG-NJU/VideoMAE": "CC-BY-NC-4.0 forbids commercial use",
    "facebookresearch/llama": "the Llama 2 Community License restricts use",
    "naver-ai/rope-vit": "the Llama 2 Community License of self-attn/rope_self_attn.py restricts use",
    "document": "code printed in a paper, without a licence",
}
FILE_KEYS = ("scheme", "title", "formula", "acts_on", "parameters", "tolerance")
CASE_KEYS = ("name", "source", "source_repo", "source_path", "source_symbol", "commit", "config",
             "tolerance", "outputs_by_formula")


def flat(nested):
    """Returns shape and numbers of nested lists, NaN for null; None where they are none."""
    if nested is None:
        return [], [float("nan")]
    if isinstance(nested, bool) or isinstance(nested, (str, dict)):
        return None
    if not isinstance(nested, list):
        return [], [float(nested)]
    parts = [flat(part) for part in nested]
    if any(part is None or part[0] != parts[0][0] for part in parts):
        return None
    inner = parts[0][0] if parts else []
    return [len(parts)] + inner, [x for part in parts for x in part[1]]


def encoded(numbers):
    """Returns dtype and bytes."""
    try:
        single = struct.pack("<%df" % len(numbers), *numbers)
    except OverflowError:
        single = b""
    if single and all(a == b or a != a for a, b in
                      zip(struct.unpack("<%df" % len(numbers), single), numbers)):
        return "F32", single
    return "F64", struct.pack("<%dd" % len(numbers), *numbers)


def shipped(folder):
    """Returns the folder's manifest, and (dtype, shape, bytes) of each of its arrays by name."""
    manifest = os.path.join(folder, "manifest.json")
    if not os.path.exists(manifest):
        return {"schemes": {}, "left_out": {}}, {}
    with open(manifest) as f:
        listed = json.load(f)
    with open(os.path.join(folder, "vectors.safetensors"), "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    return listed, {at: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
                    for at, entry in header.items()}


def split(scheme, case, repo):
    """Returns the case as the manifest has it, and its arrays by name."""
    kept = {key: case[key] for key in CASE_KEYS if case.get(key) is not None}
    kept["commit"] = case.get("commit") or scheme.get("commit")
    kept["source_repo"], kept["licence"] = repo, LICENCE[repo]
    arrays = {}
    for kind in ("params", "inputs", "outputs"):
        for key, value in (case.get(kind) or {}).items():
            array = flat(value)
            if array is None or kind != "outputs" and not array[0]:
                kept.setdefault(kind, {})[key] = value
                continue
            dtype, numbers = encoded(array[1])
            arrays["/".join((kind, key))] = dtype, array[0], numbers
    return kept, arrays


def write(out, manifest, arrays):
    """Writes both files, numbers of eight bytes first, so that all are aligned."""
    data, header = bytearray(), {}
    for at in sorted(arrays, key=lambda at: (arrays[at][0] == "F32", at)):
        dtype, shape, numbers = arrays[at]
        end = len(data) + len(numbers)
        header[at] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), end]}
        data += numbers
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(out, "vectors.safetensors"), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)
    with open(os.path.join(out, "manifest.json"), "w") as f:
        json.dump(manifest, f, indent=1, sort_keys=True)
        f.write("\n")


def main():
    *folders, out = sys.argv[1:]
    if not folders:
        sys.exit(__doc__)
    manifest, arrays = shipped(out)
    schemes, without = manifest["schemes"], manifest["left_out"]
    for path in sorted(p for folder in folders for p in glob.glob(os.path.join(folder, "*.json"))):
        name = os.path.basename(path)[:-len(".json")]
        if name in NO_ENCODINGS:
            continue
        with open(path) as f:
            scheme = json.load(f)
        for case in scheme["cases"]:
            repo = str(case.get("source_repo") or scheme.get("source_repo")).split(" (")[0]
            if repo not in LICENCE:
                reason = REFUSED.get(repo, "the repository has no licence")
                without.setdefault(name, {})[case["name"]] = "%s: %s" % (repo, reason)
                continue
            facts = {key: scheme[key] for key in FILE_KEYS if scheme.get(key) is not None}
            cases = schemes.setdefault(name, dict(facts, cases=[]))["cases"]
            cases[:] = [c for c in cases if c["name"] != case["name"]]
            kept, new = split(scheme, case, repo)
            cases.append(kept)
            of_case = "/".join((name, case["name"], ""))
            for at in [at for at in arrays if at.startswith(of_case)]:
                del arrays[at]
            arrays.update({of_case + at: array for at, array in new.items()})
    write(out, manifest, arrays)
    print("%d schemes, %d cases, %d arrays, %d cases left out" % (
        len(schemes), sum(len(s["cases"]) for s in schemes.values()), len(arrays),
        sum(map(len, without.values()))))


if __name__ == "__main__":
    main()
