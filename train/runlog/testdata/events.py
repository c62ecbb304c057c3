#!/usr/bin/env python3
"""Writes events.json and, of the same events, events.tfevents with Google's protocol buffers (Debian: python3-protobuf,
protobuf-compiler) and a CRC-32C of its own. The Go package must give the same bytes."""
import importlib, json, os, struct, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
from decode import masked_crc

with tempfile.TemporaryDirectory() as tmp:
    subprocess.run(["protoc", "--proto_path=" + here, "--python_out=" + tmp, "event.proto"], check=True)
    sys.path.insert(0, tmp)
    pb = importlib.import_module("event_pb2")

events = [
    {"wall_time": 1732181400.0, "step": 0, "scalars": [["loss", 1.5]]},
    {"wall_time": 1732181400.25, "step": 1, "scalars": [["loss", 0.0], ["accuracy/validation", -0.0]]},
    {"wall_time": 1732181401.125, "step": 127, "scalars": []},
    {"wall_time": 1732181402.0, "step": 128, "scalars": [["test_mse/0.50", 1e-42], ["pe/σ norm 模", 3.4028234663852886e38]]},
    {"wall_time": 1732181403.0, "step": 50000, "scalars": [["t/%d" % i, i / 7] for i in range(40)]},
    {"wall_time": 0.0, "step": 9007199254740993, "scalars": [["x" * 300, 0.1]]},
]


def record(message):
    data = message.SerializeToString(deterministic=True)
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


with open(os.path.join(here, "events.tfevents"), "wb") as f:
    f.write(record(pb.Event(wall_time=1732181400.0, file_version="brain.Event:2")))
    for e in events:
        m = pb.Event(wall_time=e["wall_time"], step=e["step"])
        m.summary.SetInParent()
        for tag, value in e["scalars"]:
            m.summary.value.add(tag=tag, simple_value=value)
        f.write(record(m))
with open(os.path.join(here, "events.json"), "w") as f:
    json.dump(events, f, ensure_ascii=False, indent=1)
    f.write("\n")
