package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
)

// Event holds the measurements of one step.
type Event struct {
	WallTime float64 // seconds since 1970, UTC
	Step     int64
	Scalars  []Scalar
}

// Scalar is a number by its tag. A tag begins with its group in TensorBoard and a slash.
type Scalar struct {
	Tag   string
	Value float32
}

// fileVersion is in the first event of each file.
const fileVersion = "brain.Event:2"

// Header returns the first event of a file that was made at a time, in seconds since 1970. It names
// the version of the format.
func Header(wallTime float64) []byte {
	event := appendWallTime(nil, wallTime)
	return appendRecord(nil, appendBytes(event, eventFileVersion, []byte(fileVersion)))
}

// Append appends an event to a file's bytes.
func Append(file []byte, e Event) []byte {
	event := appendWallTime(nil, e.WallTime)
	if e.Step != 0 {
		event = binary.AppendUvarint(appendKey(event, eventStep, wireVarint), uint64(e.Step))
	}
	var summary []byte
	for _, s := range e.Scalars {
		value := appendBytes(nil, valueTag, []byte(strings.ToValidUTF8(s.Tag, "\uFFFD")))
		// A member of a oneof is written also when it is zero.
		value = binary.LittleEndian.AppendUint32(appendKey(value, valueSimple, wireFixed32),
			math.Float32bits(s.Value))
		summary = appendBytes(summary, summaryValue, value)
	}
	return appendRecord(file, appendBytes(event, eventSummary, summary))
}

// Field numbers of event.proto and summary.proto.
const (
	eventWallTime    = 1 // double
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary
	summaryValue     = 1 // repeated Value
	valueTag         = 1 // string
	valueSimple      = 2 // float
)

// Wire types of protocol buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func appendKey(b []byte, field, wire uint64) []byte { return binary.AppendUvarint(b, field<<3|wire) }

func appendBytes(b []byte, field uint64, value []byte) []byte {
	return append(binary.AppendUvarint(appendKey(b, field, wireBytes), uint64(len(value))), value...)
}

func appendWallTime(b []byte, t float64) []byte {
	if t == 0 { // proto3 leaves zeros out
		return b
	}
	return binary.LittleEndian.AppendUint64(appendKey(b, eventWallTime, wireFixed64), math.Float64bits(t))
}

// appendRecord appends a TFRecord: length, its checksum, data, its checksum.
func appendRecord(file, data []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	file = binary.LittleEndian.AppendUint32(append(file, length...), maskedCRC(length))
	return binary.LittleEndian.AppendUint32(append(file, data...), maskedCRC(data))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC returns the CRC-32C of b, rotated and shifted as TFRecords need it.
func maskedCRC(b []byte) uint32 {
	crc := crc32.Checksum(b, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}
