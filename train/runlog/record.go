package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"torchpe/internal/wording"
)

// Record is one line of metrics.jsonl: the measurements of one member of the ensemble at one step.
type Record struct {
	Step     int      `json:"step"`  // optimizer steps done
	Epoch    int      `json:"epoch"` // epochs done, or the one under way
	Member   int      `json:"member"`
	Seed     int64    `json:"seed"`
	Sigma    *float64 `json:"sigma"`         // null if the scheme has none
	Fit      *Fit     `json:"fit,omitempty"` // absent if there is no criterion
	Measures Numbers  `json:"measures"`      // what was measured
	// The first block's table projected onto its first two principal axes, one point per token,
	// scaled so that the largest coordinate is 1 or -1; present with --record-maps.
	Map [][2]float64 `json:"map,omitempty"`

	WallSeconds float64 `json:"wall_seconds"` // of training, over all resumptions
	StepMS      float64 `json:"step_ms"`      // milliseconds per step since the last record
}

// UnmarshalJSON reads a record of any version.
func (r *Record) UnmarshalJSON(text []byte) (err error) {
	type plain Record
	*r = Record{}
	if err = json.Unmarshal(text, (*plain)(r)); err == nil && r.Measures == nil {
		r.Measures, r.Map, err = oldMeasures(text)
	}
	return err
}

// How a member of a run ended.
const (
	StatusDone     = "done"
	StatusDiverged = "diverged" // its loss was not finite
)

// Result is the content of result.json: the final numbers of a run.
type Result struct {
	Members []MemberResult `json:"members"`
	// TrainedTogether is the number of members of the ensemble that a sweep split into runs, this
	// one among them: times and memory are those of the ensemble. 0 for an ordinary run.
	TrainedTogether int `json:"trained_together,omitempty"`

	WallSeconds    float64 `json:"wall_seconds"`     // of all processes that trained the run
	StepsPerSecond float64 `json:"steps_per_second"` // in that time; 0 for imported weights
	PeakRSSMB      float64 `json:"peak_rss_mb"`
	Fidelity       string  `json:"fidelity"` // text or code
	// Baselines need no model. Masked prediction has test errors by masked share: zero, mean (regression on
	// the mean of the visible tokens) and gaussian (conditional Gaussian). Puzzles have accuracies on iid
	// and validation: look_up (the answer of the most similar training puzzle) and counts (the most common
	// answer of training puzzles with the same counts of symbols).
	Baselines map[string]Numbers `json:"baselines,omitempty"`
	Data      *DataSummary       `json:"data,omitempty"` // of masked prediction

	// These describe the files: SaveResult sets them, and Result and ReadMetrics check them.
	// Results of earlier versions lack them.
	ConfigSHA256  string `json:"config_sha256,omitempty"`  // of config.json without schema and white space
	MetricsCRC32C string `json:"metrics_crc32c,omitempty"` // of metrics.jsonl
	CRC32C        string `json:"crc32c,omitempty"`         // of this object without this key and white space
}

// DataSummary describes the training and test data of masked prediction.
type DataSummary struct {
	Frames         int      `json:"frames"`
	Tokens         int      `json:"tokens"`
	Runs           int      `json:"runs"`
	Subjects       int      `json:"subjects"`
	TrainFrames    int      `json:"train_frames"`
	TestFrames     int      `json:"test_frames"`     // held out
	MeasuredFrames int      `json:"measured_frames"` // of those
	Split          string   `json:"split"`
	TestSubjects   []string `json:"test_subjects,omitempty"`
	Surrogate      bool     `json:"surrogate,omitempty"` // drawn by torchpe instead of human fMRI
	Modules        int      `json:"modules,omitempty"`
	ModulesFrom    string   `json:"modules_from,omitempty"` // how they were matched to the tokens
	// ConnectivityModularity is the modularity, for these modules, of the correlations between
	// tokens over training frames, with negative ones set to 0. It is nil if undefined, and in
	// earlier versions.
	ConnectivityModularity *float64 `json:"connectivity_modularity,omitempty"`
	// For a simulated network: the factor on its autoregressive weights, never 0 for the default.
	ARScale float64  `json:"ar_scale,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// MemberResult has the final numbers of one member.
type MemberResult struct {
	PE             string   `json:"pe"`
	Sigma          *float64 `json:"sigma"` // null if the scheme has none
	Seed           int64    `json:"seed"`
	Epochs         int      `json:"epochs"`
	Steps          int      `json:"steps"`
	Status         string   `json:"status"`                     // StatusDone or StatusDiverged
	DivergedAtStep int      `json:"diverged_at_step,omitempty"` // from 1
	Fit            *Fit     `json:"fit,omitempty"`              // absent if there is no criterion
	// The numbers of the last record, and those measured only at the end; empty if the member diverged.
	Measures Numbers `json:"measures"`
}

// UnmarshalJSON reads a member's result of any version.
func (m *MemberResult) UnmarshalJSON(text []byte) (err error) {
	type plain MemberResult
	*m = MemberResult{}
	if err = json.Unmarshal(text, (*plain)(m)); err == nil && m.Measures == nil {
		m.Measures, _, err = oldMeasures(text)
	}
	return err
}

// SaveResult writes result.json, which completes the run. It must be the last file written.
func (r *Run) SaveResult(result Result) error {
	if len(result.Members) == 0 {
		return fmt.Errorf("write %s: the result has no members", r.path(resultFile))
	}
	for i, m := range result.Members {
		if m.Status != StatusDone && m.Status != StatusDiverged {
			return fmt.Errorf("write %s: member %d has status %q, not %q or %q",
				r.path(resultFile), i, m.Status, StatusDone, StatusDiverged)
		}
	}
	if err := r.metrics.sync(); err != nil {
		return r.fileError("sync", metricsFile, err)
	}
	records, err := r.eachLine(func(int, []byte) error { return nil })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	result.ConfigSHA256, result.MetricsCRC32C, result.CRC32C = r.config.sha256(), records, ""
	text, err := json.Marshal(result)
	if err == nil {
		var object Object
		object, err = ParseObject(text)
		sum := Field{resultChecksumKey, []byte(strconv.Quote(checksum(object.Text())))}
		text = append(object, sum).Text()
	}
	if err != nil {
		return r.fileError("write", resultFile, err)
	}
	if err := r.writeJSON(resultFile, json.RawMessage(text)); err != nil || !r.hidden {
		return err
	}
	if err := r.rename(configFile+tempSuffix, configFile); err != nil {
		return err
	}
	r.hidden = false
	return r.syncDir()
}

const resultChecksumKey = "crc32c" // of result.json

// Result returns the final numbers. The error is ErrNoResult if the run is not complete, and
// ErrConfigChanged if config.json has changed since.
func (r *Reader) Result() (Result, error) {
	result, err := r.readResult()
	if err != nil {
		return Result{}, err
	}
	if made, now := result.ConfigSHA256, r.config.sha256(); made != "" && made != now {
		return Result{}, fmt.Errorf("%s: %w (the SHA-256 of its settings begins with %.12s, result.json has "+
			"%.12s): restore the old settings", r.path(configFile), ErrConfigChanged, now, made)
	}
	result.ConfigSHA256, result.MetricsCRC32C, result.CRC32C = "", "", ""
	return result, nil
}

// readResult reads result.json and checks its checksum, if it has one.
func (r *Reader) readResult() (result Result, err error) {
	text, err := r.root.ReadFile(resultFile)
	if errors.Is(err, fs.ErrNotExist) {
		return result, fmt.Errorf("%s: %w", r.dir, ErrNoResult)
	}
	if err != nil {
		return result, r.fileError("read", resultFile, err)
	}
	object, err := ParseObject(text)
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	sum := checksum(object.Without(resultChecksumKey).Text())
	if sealed := result.ConfigSHA256 + result.CRC32C; err == nil && sealed != "" && result.CRC32C != sum {
		err = fmt.Errorf("its content has CRC-32C %s, but its key %s says %q",
			sum, resultChecksumKey, result.CRC32C)
	}
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w: %w; remove it, and torchpe train --resume --out %s writes it again",
			r.path(resultFile), ErrDamaged, err, wording.Quote(r.dir))
	}
	return result, nil
}
