package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array/safetensors"
)

// Checkpoint is a complete and undamaged state of training that was read.
type Checkpoint struct {
	*safetensors.File // Metadata has only the caller's keys

	Step    int    // optimizer steps done
	Name    string // of the file
	Warning string // why a newer checkpoint was skipped; empty if none was
}

// head is the state of a Run's checkpoints. One goroutine may read it while another writes a checkpoint.
type head struct {
	known bool // false until the files are read, and after an error
	whole bool // checkpoint.safetensors is undamaged, so it may become the previous one
	step  int  // of the newest checkpoint; noStep if there is none
}

// SaveCheckpoint writes the state of training after step, and keeps the checkpoint before it. When
// it returns, its data and the metrics appended so far are safe on disk. It needs space for one
// more checkpoint; if there is too little it fails with a [SpaceError] and the checkpoints stay as
// they were. Metadata keys must not start with "torchpe.".
func (r *Run) SaveCheckpoint(step int, tensors []safetensors.Tensor, metadata map[string]string) error {
	write, err := r.BeginCheckpoint(step, tensors, metadata)
	if err != nil {
		return err
	}
	return write()
}

// BeginCheckpoint starts what [Run.SaveCheckpoint] does and returns the rest, which takes as long
// as the disk needs. Another goroutine may call that function while this one appends records of
// later steps. Until it returns, nothing else may be done with the run.
func (r *Run) BeginCheckpoint(
	step int, tensors []safetensors.Tensor, metadata map[string]string) (write func() error, err error) {
	for key := range metadata {
		if strings.HasPrefix(key, reservedPrefix) {
			return nil, r.fileError("write", checkpointFile,
				fmt.Errorf("metadata key %q: the prefix %q is reserved", key, reservedPrefix))
		}
	}
	if err := r.findHead(); err != nil {
		return nil, fmt.Errorf("before writing a checkpoint of step %d: %w", step, err)
	}
	if newest := r.head.Load().step; step < newest || step < 0 {
		return nil, fmt.Errorf("write %s: step %d comes after step %d: to start over, create the run "+
			"again with --force", r.path(checkpointFile), step, newest)
	}
	// Metrics come first: a checkpoint implies that all records up to its step exist.
	if err := r.metrics.sync(); err != nil {
		return nil, r.fileError("sync", metricsFile, err)
	}
	return func() error { return r.writeCheckpoint(step, tensors, metadata) }, nil
}

// writeCheckpoint writes and commits a checkpoint. The metrics must be synced.
func (r *Run) writeCheckpoint(step int, tensors []safetensors.Tensor, metadata map[string]string) error {
	if err := r.findHead(); err != nil { // unknown after an error
		return fmt.Errorf("before writing a checkpoint of step %d: %w", step, err)
	}
	all := map[string]string{checkpointKey: strconv.Itoa(SchemaVersion), stepKey: strconv.Itoa(step)}
	maps.Copy(all, metadata)
	size, encode, err := r.seal(checkpointFile, tensors, all)
	if err != nil {
		return err
	}
	if err := r.writeTemp(checkpointFile, size, encode); err != nil {
		return err
	}
	return r.commitCheckpoint(step)
}

// seal adds checksums to the metadata of a file of tensors, and checks that it fits on the disk. It
// returns the file's size and a function that writes it.
func (r *Run) seal(name string, tensors []safetensors.Tensor, metadata map[string]string) (
	size int64, encode func(io.Writer) error, err error) {
	if err = addChecksums(tensors, metadata); err == nil {
		size, err = safetensors.EncodedSize(tensors, metadata)
	}
	if err == nil {
		err = r.needSpace(size)
	}
	if err != nil {
		return 0, nil, r.fileError("write", name, err)
	}
	return size, func(w io.Writer) error { return safetensors.Encode(w, tensors, metadata) }, nil
}

// commitCheckpoint gives the complete temporary file its name. Between the two renames the previous
// checkpoint is the only one; it is complete, because a damaged one never becomes the previous one.
func (r *Run) commitCheckpoint(step int) error {
	old := r.head.Load()
	r.head.Store(&head{step: old.step}) // unknown until the renames have succeeded
	// Saving the same step again keeps the checkpoint before it.
	if old.whole && old.step != step {
		if err := r.rename(checkpointFile, previousFile); err != nil {
			return errors.Join(err, r.remove(checkpointFile+tempSuffix))
		}
	}
	if err := r.rename(checkpointFile+tempSuffix, checkpointFile); err != nil {
		return errors.Join(err, r.remove(checkpointFile+tempSuffix))
	}
	r.head.Store(&head{known: true, whole: true, step: step})
	return r.syncDir()
}

// findHead reads the checkpoints, unless this Run has already written or read them.
func (r *Run) findHead() error {
	if r.head.Load().known {
		return nil
	}
	_, err := r.LoadCheckpoint()
	if errors.Is(err, ErrNoCheckpoint) {
		return nil
	}
	return err
}

// LoadCheckpoint returns the newest undamaged checkpoint: see [Reader.LoadCheckpoint].
func (r *Run) LoadCheckpoint() (*Checkpoint, error) {
	c, whole, err := r.loadNewest()
	switch {
	case err == nil:
		r.head.Store(&head{known: true, whole: whole, step: c.Step})
	case errors.Is(err, ErrNoCheckpoint):
		r.head.Store(&head{known: true, step: noStep})
	}
	return c, err
}

// CheckpointPath returns the file of the newest checkpoint of a run directory.
func CheckpointPath(dir string) string { return filepath.Join(dir, checkpointFile) }

// LoadCheckpoint returns the newest undamaged checkpoint. If the newest file is damaged it returns
// the one before, with a Warning. It fails with ErrNoCheckpoint if there is none, and with
// ErrDamaged if none can be read. It never changes or removes a file. It also warns if the newest
// checkpoint of a finished run is not that of the end of training.
func (r *Reader) LoadCheckpoint() (*Checkpoint, error) {
	c, _, err := r.loadNewest()
	if err != nil || c.Warning != "" || !r.Complete() {
		return c, err
	}
	result, _ := r.readResult() // callers that need the result report damage
	for _, m := range result.Members {
		if m.Steps > c.Step && c.Warning == "" {
			c.Warning = fmt.Sprintf("%s: its newest checkpoint, %s, is of step %d, but training ended "+
				"after step %d",
				r.dir, c.Name, c.Step, m.Steps)
		}
	}
	return c, nil
}

// loadNewest returns the newest undamaged checkpoint, and whether checkpoint.safetensors is undamaged.
func (r *Reader) loadNewest() (c *Checkpoint, whole bool, err error) {
	newest, err := r.readCheckpoint(checkpointFile)
	previous, previousErr := r.readCheckpoint(previousFile)
	for _, err := range []error{err, previousErr} {
		if errors.Is(err, ErrSchema) {
			return nil, false, err // written by a newer program, not damaged
		}
	}
	none, nonePrevious := errors.Is(err, fs.ErrNotExist), errors.Is(previousErr, fs.ErrNotExist)
	switch {
	case err == nil && (previousErr != nil || newest.Step >= previous.Step):
		return newest, true, nil
	case err == nil:
		return previous, true, nil // files were moved by hand: the later step counts
	case none && previousErr == nil:
		return previous, false, nil // a crash between the two renames
	case previousErr == nil:
		previous.Warning = fmt.Sprintf("%v; continuing from %s of step %d", err, previousFile, previous.Step)
		return previous, false, nil
	case none && nonePrevious:
		return nil, false, fmt.Errorf("%s: %w", r.dir, ErrNoCheckpoint)
	}
	return nil, false, fmt.Errorf("%s: no checkpoint can be read (none was changed): %w; "+
		"restore one of them, or start over with --force",
		r.dir, joinPresent(err, previousErr))
}

// joinPresent joins the errors, except those of missing files.
func joinPresent(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, fs.ErrNotExist) })
	if len(errs) == 2 {
		return fmt.Errorf("%w; %w", errs[0], errs[1])
	}
	return errs[0]
}

// readCheckpoint reads one checkpoint file and verifies every byte.
func (r *Reader) readCheckpoint(name string) (*Checkpoint, error) {
	f, err := readTensors(r, name, safetensors.Decode)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{File: f, Name: name}
	if err := c.unseal(); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.path(name), err)
	}
	return c, nil
}

// CheckpointMetadata returns the metadata of the newest checkpoint with a readable header. It
// checks nothing else. Errors are those of LoadCheckpoint.
func (r *Reader) CheckpointMetadata() (map[string]string, error) {
	newest, err := readTensors(r, checkpointFile, safetensors.Metadata)
	if err == nil {
		return newest, nil
	}
	previous, previousErr := readTensors(r, previousFile, safetensors.Metadata)
	switch {
	case previousErr == nil:
		return previous, nil
	case errors.Is(err, fs.ErrNotExist) && errors.Is(previousErr, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", r.dir, ErrNoCheckpoint)
	}
	return nil, joinPresent(err, previousErr)
}

// CheckpointStep returns the step of the newest checkpoint that can be read, or 0 if there is none.
func (r *Reader) CheckpointStep() int {
	metadata, _ := r.CheckpointMetadata()
	step, _ := strconv.Atoi(metadata[stepKey])
	return step
}

// readTensors reads a safetensors file of the run, or a part of it. For a malformed file the error
// is ErrDamaged.
func readTensors[T any](r *Reader, name string, read func(io.ReaderAt, int64) (T, error)) (none T, err error) {
	f, err := r.root.Open(name)
	if err != nil {
		return none, r.fileError("read", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return none, r.fileError("read", name, err)
	}
	if !info.Mode().IsRegular() {
		return none, fmt.Errorf("read %s: %w: not a regular file (%s)", r.path(name),
			ErrDamaged, info.Mode())
	}
	content, err := read(f, info.Size())
	if err != nil {
		return none, fmt.Errorf("read %s: %w: %w", r.path(name), ErrDamaged, err)
	}
	return content, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC-32C of b as 8 hexadecimal digits. It does not protect against forgery.
func checksum(b []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)) }

func addChecksums(tensors []safetensors.Tensor, metadata map[string]string) error {
	sums := make(map[string]string, len(tensors))
	for _, t := range tensors {
		sums[t.Name] = checksum(t.Data)
	}
	text, err := json.Marshal(sums)
	if err != nil {
		return err
	}
	metadata[checksumKey] = string(text)
	metadata[headChecksumKey], err = headChecksum(tensors, metadata)
	return err
}

// headChecksum returns the checksum of a header: metadata, names, dtypes and shapes.
func headChecksum(tensors []safetensors.Tensor, metadata map[string]string) (string, error) {
	type tensor struct {
		DType safetensors.DType
		Shape []int
	}
	content := struct {
		Metadata map[string]string
		Tensors  map[string]tensor
	}{maps.Clone(metadata), make(map[string]tensor, len(tensors))}
	delete(content.Metadata, headChecksumKey)
	for _, t := range tensors {
		content.Tensors[t.Name] = tensor{t.DType, append([]int{}, t.Shape...)} // never null
	}
	text, err := json.Marshal(content) // sorts the keys
	if err != nil {
		return "", err
	}
	return checksum(text), nil
}

// unseal checks the checksums and removes our keys from the metadata. It checks the header's
// checksum first, which all schema versions compute in the same way, so that a flipped bit in the
// schema does not look like a newer program.
func (c *Checkpoint) unseal() error {
	if _, ok := c.Metadata[headChecksumKey]; !ok {
		return fmt.Errorf("%w: it has no checksum (metadata key %q): not a "+
			"checkpoint of torchpe", ErrDamaged, headChecksumKey)
	}
	if err := checkHead(c.File); err != nil {
		return err
	}
	if version, err := strconv.Atoi(c.Metadata[checkpointKey]); err != nil || version > SchemaVersion {
		return fmt.Errorf("%s %q: %w: this version reads up to %d", checkpointKey,
			c.Metadata[checkpointKey], ErrSchema, SchemaVersion)
	}
	if err := checkData(c.File); err != nil {
		return err
	}
	var err error
	if c.Step, err = strconv.Atoi(c.Metadata[stepKey]); err != nil {
		return fmt.Errorf("%w: %s %q is not a number", ErrDamaged, stepKey, c.Metadata[stepKey])
	}
	maps.DeleteFunc(c.Metadata, isReserved)
	return nil
}

func isReserved(key, _ string) bool { return strings.HasPrefix(key, reservedPrefix) }

func checkHead(f *safetensors.File) error {
	got, err := headChecksum(f.Tensors, f.Metadata)
	if want := f.Metadata[headChecksumKey]; err == nil && got != want {
		err = fmt.Errorf("%w: the header has CRC-32C %s, its metadata says %s", ErrDamaged, got, want)
	}
	return err
}

// checkData compares the data of each tensor with the checksum in the header.
func checkData(f *safetensors.File) error {
	var sums map[string]string
	if err := json.Unmarshal([]byte(f.Metadata[checksumKey]), &sums); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, checksumKey, err)
	}
	for _, t := range f.Tensors {
		if got := checksum(t.Data); got != sums[t.Name] {
			return fmt.Errorf("%w: tensor %q has CRC-32C %s, the header says %q", ErrDamaged,
				t.Name, got, sums[t.Name])
		}
	}
	return nil
}

// SaveProbes writes probes.safetensors with checksums: quantities inside the model, measured at the
// end of training.
func (r *Run) SaveProbes(tensors []safetensors.Tensor, metadata map[string]string) error {
	all := map[string]string{}
	maps.Copy(all, metadata)
	size, encode, err := r.seal(probesFile, tensors, all)
	if err != nil {
		return err
	}
	return r.writeFile(probesFile, size, encode)
}

// LoadProbes reads probes.safetensors. The error matches fs.ErrNotExist if the run has none yet.
// Probes of earlier versions have no checksums.
func (r *Reader) LoadProbes() (*safetensors.File, error) {
	f, err := readTensors(r, probesFile, safetensors.Decode)
	if err != nil {
		return nil, err
	}
	sealed := false
	for key := range f.Metadata {
		sealed = sealed || isReserved(key, "")
	}
	if !sealed {
		return f, nil
	}
	if err = checkHead(f); err == nil {
		err = checkData(f)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.path(probesFile), err)
	}
	maps.DeleteFunc(f.Metadata, isReserved)
	return f, nil
}
