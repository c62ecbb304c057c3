#!/usr/bin/env python3
"""Reads TensorBoard event files, given by path, and prints a JSON list of events for each; fails on anything that is not as
TensorFlow's record_writer.h, event.proto and summary.proto have it. It shares nothing with the Go package but those."""
import json, struct, sys

table = []
for n in range(256):  # CRC-32C, the reflected polynomial 0x82f63b78 (RFC 3720, appendix B.4)
    for _ in range(8):
        n = n >> 1 ^ 0x82F63B78 * (n & 1)
    table.append(n)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked_crc(data[:8]), "checksum of a length"
        body, rest = data[12 : 12 + length], data[12 + length :]
        assert len(body) == length and len(rest) >= 4, "half a record"
        assert struct.unpack("<I", rest[:4])[0] == masked_crc(body), "checksum of a record"
        yield body
        data = rest[4:]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                assert key & 7 == 2, "wire type %d" % (key & 7)
                size, at = varint(data, at)
            value, at = data[at : at + size], at + size
            assert len(value) == size, "half a field"
        yield key >> 3, key & 7, value


def event(data):
    e = {"wall_time": 0.0, "step": 0}
    for field, wire, value in fields(data):
        if (field, wire) == (1, 1):
            e["wall_time"] = struct.unpack("<d", value)[0]
        elif (field, wire) == (2, 0):
            e["step"] = value
        elif (field, wire) == (3, 2):
            e["file_version"] = value.decode()
        elif (field, wire) == (5, 2):
            e["scalars"] = []
            for f, w, v in fields(value):
                assert (f, w) == (1, 2), "field %d of a summary" % f
                parts = {(a, b): c for a, b, c in fields(v)}
                assert set(parts) == {(1, 2), (2, 5)}, "fields of a value"
                e["scalars"].append([parts[1, 2].decode(), struct.unpack("<f", parts[2, 5])[0]])
        else:
            raise AssertionError("field %d, wire type %d" % (field, wire))
    return e


if __name__ == "__main__":
    files = []
    for path in sys.argv[1:]:
        with open(path, "rb") as f:
            files.append([event(r) for r in records(f.read())])
        assert files[-1] and files[-1][0].get("file_version") == "brain.Event:2", "the first event names no version"
    json.dump(files, sys.stdout)
