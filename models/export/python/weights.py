import json

import torch

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read_safetensors(path):
    """Returns the tensors of a file by name: 8 bytes with the length of the header, the header as
    JSON, the numbers."""
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = bytearray(f.read())
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(data[slice(*t["data_offsets"])], dtype=DTYPES[t["dtype"]])
            .reshape(t["shape"]) for name, t in header.items()}


def write_safetensors(path, tensors):
    """Writes tensors by name."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, data = {}, b""
    for name, t in tensors.items():
        numbers = bytes(t.detach().cpu().contiguous().flatten().view(torch.uint8).tolist())
        header[name] = {"dtype": names[t.dtype], "shape": list(t.shape),
                        "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)
