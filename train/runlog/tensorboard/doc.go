// Package tensorboard writes the event files that TensorBoard reads: scalars by tag and step.
//
// A file is a row of TFRecords, each with its length and two masked CRC-32Cs, that hold Event
// messages of protocol buffers; the first names the version of the format. The layout is that of
// TensorFlow's record_writer.h, event.proto and summary.proto. The same events always give the same
// bytes: testdata/make.py makes them with Google's protocol buffers, and testdata/decode.py reads
// them with nothing but Python.
//
// The package imports the standard library only, and returns bytes: the caller writes files.
package tensorboard
