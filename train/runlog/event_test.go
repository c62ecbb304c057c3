package runlog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"torchpe/internal/expect"
)

// The bytes equal those of Google's protocol buffers: testdata/events.py.
func TestBytes(t *testing.T) {
	text := expect.Must(os.ReadFile("testdata/events.json"))
	var events []struct {
		WallTime float64  `json:"wall_time"`
		Step     int64    `json:"step"`
		Scalars  [][2]any `json:"scalars"`
	}
	expect.NoError(t, json.Unmarshal(text, &events))
	want := expect.Must(os.ReadFile("testdata/events.tfevents"))
	got := eventHeader(1732181400)
	for _, e := range events {
		event := boardEvent{wallTime: e.WallTime, step: e.Step}
		for _, s := range e.Scalars {
			event.scalars = append(event.scalars, boardScalar{s[0].(string), float32(s[1].(float64))})
		}
		if got = appendEvent(got, event); len(got) > len(want) || !bytes.Equal(got, want[:len(got)]) {
			t.Fatalf("step %d: the bytes differ from those of testdata/events.tfevents", e.Step)
		}
	}
	expect.Equal(t, "bytes", len(got), len(want))
}

// A tag that is no UTF-8 would make the message unreadable.
func TestTagIsUTF8(t *testing.T) {
	got := appendEvent(nil, boardEvent{scalars: []boardScalar{{"a\xffb", 1}}})
	if !bytes.Contains(got, []byte("a\uFFFDb")) {
		t.Errorf("%q", got)
	}
}

// The vectors of RFC 3720, appendix B.4 (their bytes are in the order of transmission), and the
// mask of the zero checksum.
func TestCRC(t *testing.T) {
	up, down := make([]byte, 32), make([]byte, 32)
	for i := range up {
		up[i], down[i] = byte(i), byte(31-i)
	}
	scsi := expect.Must(hex.DecodeString(
		"01c00000000000000000000000000000140000000000040000000014000000182800000000000000020000000000000000"))
	for _, v := range []struct {
		data []byte
		want uint32
	}{
		{make([]byte, 32), 0x8a9136aa}, {bytes.Repeat([]byte{0xff}, 32), 0x62a8ab43}, {up, 0x46dd794e},
		{down, 0x113fdb5c},
		// the last: the catalogue of CRCs, check value of CRC-32/ISCSI
		{scsi[:48], 0xd9963a56}, {[]byte("123456789"), 0xe3069283},
	} {
		expect.Equal(t, v.data, checksum(v.data), fmt.Sprintf("%08x", v.want))
		expect.Equal(t, v.data, maskedCRC(v.data), (v.want>>15|v.want<<17)+0xa282ead8)
	}
	expect.Equal(t, "masked CRC of nothing", maskedCRC(nil), 0xa282ead8)
}
