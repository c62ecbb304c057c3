// Package safetensors reads and writes the safetensors file format, the way torchpe keeps arrays on
// disk: checkpoints, probes and reference vectors. Python's safetensors reads what it writes, and
// it reads what Python writes.
//
// A file is an 8-byte little-endian header length, a JSON header and the raw little-endian bytes of
// the tensors:
//
//	{"__metadata__": {"k": "v"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// Invariants. A [File] that was read is complete: every tensor has exactly the bytes that its shape
// and dtype ask for (one of a dtype that is not read, those that the header says), and the tensors
// cover the payload with no hole, overlap or trailing byte.
// Nothing is allocated for the payload before the header has been checked against the file's
// length, so a hostile file costs at most a multiple of its own header, and a header has at
// most [MaxHeader] bytes.
package safetensors
