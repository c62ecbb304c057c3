// Event files of TensorBoard: a row of TFRecords, each with its length and two masked CRC-32Cs, that hold
// Event messages of protocol buffers; the first names the version of the format. The layout is that of
// TensorFlow's record_writer.h, event.proto and summary.proto. The same events always give the same bytes:
// testdata/events.py makes them with Google's protocol buffers, and testdata/decode.py reads them with
// nothing but Python.

package runlog

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
)

// boardEvent holds the measurements of one step.
type boardEvent struct {
	wallTime float64 // seconds since 1970, UTC
	step     int64
	scalars  []boardScalar
}

// boardScalar is a number by its tag. A tag begins with its group in TensorBoard and a slash.
type boardScalar struct {
	tag   string
	value float32
}

const fileVersion = "brain.Event:2"

// eventHeader returns the first event of a file that was made at a time, in seconds since 1970. It names
// the version of the format.
func eventHeader(wallTime float64) []byte {
	event := appendWallTime(nil, wallTime)
	return appendRecord(nil, appendBytes(event, eventFileVersion, []byte(fileVersion)))
}

// appendEvent appends an event to a file's bytes.
func appendEvent(file []byte, e boardEvent) []byte {
	event := appendWallTime(nil, e.wallTime)
	if e.step != 0 {
		event = binary.AppendUvarint(appendKey(event, eventStep, wireVarint), uint64(e.step))
	}
	var summary []byte
	for _, s := range e.scalars {
		value := appendBytes(nil, valueTag, []byte(strings.ToValidUTF8(s.tag, "\uFFFD")))
		// A member of a oneof is written also when it is zero.
		value = binary.LittleEndian.AppendUint32(appendKey(value, valueSimple, wireFixed32),
			math.Float32bits(s.value))
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

// maskedCRC returns the CRC-32C of b, rotated and shifted as TFRecords need it.
func maskedCRC(b []byte) uint32 {
	crc := crc32.Checksum(b, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}
