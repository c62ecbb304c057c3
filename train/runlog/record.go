package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
)

// Record is one line of metrics.jsonl: the measurements of one member of the ensemble at one step.
// NaN and infinity are written as null, and null is read as NaN, which also means "not measured".
type Record struct {
	Step                  int      `json:"step"`  // optimizer steps done
	Epoch                 int      `json:"epoch"` // epochs done, or the one under way
	Member                int      `json:"member"`
	Sigma                 *float64 `json:"sigma"` // null where the scheme has none
	Seed                  int64    `json:"seed"`
	Loss                  float64  `json:"loss"`
	TrainAccuracy         float64  `json:"train_accuracy"` // 0 to 1, as all accuracies
	IIDAccuracy           float64  `json:"iid_accuracy"`
	ValidationAccuracy    float64  `json:"validation_accuracy"`
	ValidationByCondition Numbers  `json:"validation_by_condition"`
	// Validation accuracy by the number of rows and columns that a puzzle needs (see lst.Lines),
	// "1" to "3". Absent for other sides than 4.
	ValidationByLines Numbers `json:"validation_by_lines,omitempty"`
	// Accuracy on puzzles of other sizes by their number of tokens, where it is measured.
	AccuracyByTokens Numbers `json:"accuracy_by_tokens,omitempty"`
	// Accuracy of task sequence by the length of the input, where it is measured.
	AccuracyByLength Numbers `json:"accuracy_by_length,omitempty"`
	// Perplexity of held-out text by the length of its windows, and mean loss, in nats, at positions of
	// the longest windows: runs of positions of one length, by the last of each, counted from 1.
	PerplexityByLength Numbers `json:"perplexity_by_length,omitempty"`
	LossByPosition     Numbers `json:"loss_by_position,omitempty"`
	// Frobenius norm and effective rank (see metrics.EffectiveRank) of the PE's table [N,D], means
	// over the blocks that have one. Absent without a table.
	PENorm          *float64 `json:"pe_norm,omitempty"`
	PEEffectiveRank *float64 `json:"pe_effective_rank,omitempty"`

	PEMotion *PEMotion `json:"pe_motion,omitempty"` // absent where no table is trained
	Fit      *Fit      `json:"fit,omitempty"`       // absent where there is no criterion

	WallSeconds     float64 `json:"wall_seconds"` // of training, over all resumptions
	StepMS          float64 `json:"step_ms"`      // milliseconds a step since the last record
	Extra           Numbers `json:"extra,omitempty"`
	*MaskedMeasures         // nil but for masked prediction, which has no accuracies
}

// PEMotion says how far the tables of a learned PE have moved from their start. Lists have a number
// a block, or one where all blocks share a table; a number that is not finite is left out.
type PEMotion struct {
	Moved         []float64 `json:"moved"`                    // norm of the change over the norm at the start
	GradientShare *float64  `json:"gradient_share,omitempty"` // norm over that of all, at the last step
	// Of tokens on a grid, compared with 2d-fixed in the published code: the Procrustes disparity
	// (see metrics.Procrustes), and the cosine of the two tables (0.72 for 1d-fixed at the paper's
	// size).
	Disparity []float64 `json:"disparity,omitempty"`
	Cosine    []float64 `json:"cosine,omitempty"`
	// That cosine before the first step; in results alone.
	StartCosine []float64 `json:"start_cosine,omitempty"`
	// The first block's table along its first two principal axes, a point a token, whose largest
	// coordinate is 1 or -1; where it was asked for, and never in results.
	Map [][2]float64 `json:"map,omitempty"`
}

// MaskedMeasures has the measurements of masked prediction, in place of accuracies. Errors are mean
// squares over masked tokens, in units of the data; what is not finite is null or absent.
type MaskedMeasures struct {
	TrainMSE      *float64 `json:"train_mse"`        // in training, since the last record
	TestMSEByMask Numbers  `json:"test_mse_by_mask"` // by share masked: "0.50"
	// Network scores of the learned PE against the known modules: the mean over blocks with a
	// table, and each. Null where there is no table or no modules.
	Modularity        *float64  `json:"modularity"`
	Clustering        *float64  `json:"clustering"`
	ModularityByBlock []float64 `json:"modularity_by_block,omitempty"`
	ClusteringByBlock []float64 `json:"clustering_by_block,omitempty"`
}

// NewRecord returns a record whose measurements are NaN.
func NewRecord(step, epoch, member int) Record {
	r := Record{Step: step, Epoch: epoch, Member: member}
	r.setNaN()
	return r
}

// setNaN sets the measurements to NaN.
func (r *Record) setNaN() {
	nan := math.NaN()
	r.Loss, r.TrainAccuracy, r.IIDAccuracy, r.ValidationAccuracy = nan, nan, nan, nan
	r.WallSeconds, r.StepMS = nan, nan
}

// plainRecord is a Record without its methods.
type plainRecord Record

// recordJSON replaces the fields of a Record that may be null.
type recordJSON struct {
	*plainRecord
	Sigma                 *number  `json:"sigma"`
	Loss                  *number  `json:"loss"`
	TrainAccuracy         *number  `json:"train_accuracy,omitempty"`
	IIDAccuracy           *number  `json:"iid_accuracy,omitempty"`
	ValidationAccuracy    *number  `json:"validation_accuracy,omitempty"`
	ValidationByCondition *Numbers `json:"validation_by_condition,omitempty"`
	WallSeconds           *number  `json:"wall_seconds"`
	StepMS                *number  `json:"step_ms"`
}

// json returns the view of the record that JSON is written from and read into.
func (r *Record) json() recordJSON {
	return recordJSON{
		plainRecord:           (*plainRecord)(r),
		Sigma:                 (*number)(r.Sigma),
		Loss:                  (*number)(&r.Loss),
		TrainAccuracy:         (*number)(&r.TrainAccuracy),
		IIDAccuracy:           (*number)(&r.IIDAccuracy),
		ValidationAccuracy:    (*number)(&r.ValidationAccuracy),
		ValidationByCondition: &r.ValidationByCondition,
		WallSeconds:           (*number)(&r.WallSeconds),
		StepMS:                (*number)(&r.StepMS),
	}
}

// MarshalJSON writes numbers that are not finite as null, and no accuracies with MaskedMeasures.
func (r Record) MarshalJSON() ([]byte, error) {
	v := r.json()
	if r.MaskedMeasures != nil {
		v.TrainAccuracy, v.IIDAccuracy, v.ValidationAccuracy, v.ValidationByCondition = nil, nil, nil, nil
	}
	return json.Marshal(v)
}

// UnmarshalJSON reads measurements that are null or absent as NaN.
func (r *Record) UnmarshalJSON(text []byte) error {
	*r = Record{}
	r.setNaN()
	v := r.json()
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	r.Sigma = (*float64)(v.Sigma)
	return nil
}

// How a member of a run ended.
const (
	StatusDone     = "done"
	StatusDiverged = "diverged" // its loss was not finite
)

// Result is the content of result.json: the final numbers of a run.
type Result struct {
	Members []MemberResult `json:"members"`
	// TrainedTogether is the number of members of the ensemble that a sweep split this run from:
	// times and memory are the ensemble's. 0 for an ordinary run.
	TrainedTogether int `json:"trained_together,omitempty"`

	WallSeconds    float64 `json:"wall_seconds"`
	StepsPerSecond float64 `json:"steps_per_second"`
	PeakRSSMB      float64 `json:"peak_rss_mb"`
	Fidelity       string  `json:"fidelity"` // text or code
	// Baselines need no model. Masked prediction has test errors by the share of tokens masked: zero,
	// mean (regression on the mean of the visible tokens) and gaussian (conditional Gaussian). Puzzles
	// have accuracies on iid and validation: look_up (the answer of the most similar training puzzle)
	// and counts (the commonest answer where each symbol stands as often).
	Baselines map[string]Numbers `json:"baselines,omitempty"`
	Data      *DataSummary       `json:"data,omitempty"` // of masked prediction

	// Both are of the file alone: SaveResult writes them and Result checks them. Files of earlier
	// versions have neither.
	ConfigSHA256 string `json:"config_sha256,omitempty"` // of config.json without schema and white space
	CRC32C       string `json:"crc32c,omitempty"`        // of this object without this key and white space
}

// DataSummary says what masked prediction was trained and tested on.
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
	Modules        int      `json:"modules,omitempty"`
	ModulesFrom    string   `json:"modules_from,omitempty"` // how they were matched to the tokens
	// Of a simulated network: the factor on its autoregressive weights, never 0 for the default.
	ARScale float64  `json:"ar_scale,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// MemberResult has the final numbers of one member. NaN is null in the file, as in a Record.
type MemberResult struct {
	PE                    string   `json:"pe"`
	Sigma                 *float64 `json:"sigma"` // null where the scheme has none
	Seed                  int64    `json:"seed"`
	Epochs                int      `json:"epochs"`
	Steps                 int      `json:"steps"`
	TrainAccuracy         float64  `json:"train_accuracy"`
	IIDAccuracy           float64  `json:"iid_accuracy"`
	ValidationAccuracy    float64  `json:"validation_accuracy"`
	ValidationByCondition Numbers  `json:"validation_by_condition"`
	ValidationByLines     Numbers  `json:"validation_by_lines,omitempty"` // as in Record
	// Accuracy on puzzles of other sizes by their number of tokens, and of these by condition.
	// Absent where it was not measured, as all that follows.
	AccuracyByTokens             Numbers            `json:"accuracy_by_tokens,omitempty"`
	AccuracyByTokensAndCondition map[string]Numbers `json:"accuracy_by_tokens_and_condition,omitempty"`
	AccuracyByLength             Numbers            `json:"accuracy_by_length,omitempty"`   // as in Record
	PerplexityByLength           Numbers            `json:"perplexity_by_length,omitempty"` // as in Record
	LossByPosition               Numbers            `json:"loss_by_position,omitempty"`     // as in Record
	// Mean validation accuracy with Gaussian noise on the embeddings, by standard deviation.
	NoiseAccuracy Numbers `json:"noise_accuracy,omitempty"`
	// Alignment of the tangent kernel at the end with that at the start, -1 to 1.
	TangentAlignment *float64 `json:"tangent_alignment,omitempty"`

	PEMotion        *PEMotion `json:"pe_motion,omitempty"`        // absent where no table is trained
	Fit             *Fit      `json:"fit,omitempty"`              // absent where there is no criterion
	Status          string    `json:"status"`                     // StatusDone or StatusDiverged
	DivergedAtStep  int       `json:"diverged_at_step,omitempty"` // from 1
	*MaskedMeasures           // nil but for masked prediction, which has no accuracies
}

// plainMember is a MemberResult without its methods.
type plainMember MemberResult

// memberJSON replaces the fields of a MemberResult that may be null.
type memberJSON struct {
	*plainMember
	Sigma                 *number  `json:"sigma"`
	TrainAccuracy         *number  `json:"train_accuracy,omitempty"`
	IIDAccuracy           *number  `json:"iid_accuracy,omitempty"`
	ValidationAccuracy    *number  `json:"validation_accuracy,omitempty"`
	ValidationByCondition *Numbers `json:"validation_by_condition,omitempty"`
}

// json returns the view of the result that JSON is written from and read into.
func (m *MemberResult) json() memberJSON {
	return memberJSON{
		plainMember:           (*plainMember)(m),
		Sigma:                 (*number)(m.Sigma),
		TrainAccuracy:         (*number)(&m.TrainAccuracy),
		IIDAccuracy:           (*number)(&m.IIDAccuracy),
		ValidationAccuracy:    (*number)(&m.ValidationAccuracy),
		ValidationByCondition: &m.ValidationByCondition,
	}
}

// MarshalJSON writes numbers that are not finite as null, and no accuracies with MaskedMeasures.
func (m MemberResult) MarshalJSON() ([]byte, error) {
	v := m.json()
	if m.MaskedMeasures != nil {
		v.TrainAccuracy, v.IIDAccuracy, v.ValidationAccuracy, v.ValidationByCondition = nil, nil, nil, nil
	}
	return json.Marshal(v)
}

// UnmarshalJSON reads accuracies that are null or absent as NaN.
func (m *MemberResult) UnmarshalJSON(text []byte) error {
	nan := math.NaN()
	*m = MemberResult{TrainAccuracy: nan, IIDAccuracy: nan, ValidationAccuracy: nan}
	v := m.json()
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	m.Sigma = (*float64)(v.Sigma)
	return nil
}

// plainResult is a Result without its methods.
type plainResult Result

// resultJSON replaces the fields of a Result that may be null.
type resultJSON struct {
	*plainResult
	WallSeconds    *number `json:"wall_seconds"`
	StepsPerSecond *number `json:"steps_per_second"`
	PeakRSSMB      *number `json:"peak_rss_mb"`
}

// json returns the view of the result that JSON is written from and read into.
func (r *Result) json() resultJSON {
	return resultJSON{(*plainResult)(r), (*number)(&r.WallSeconds), (*number)(&r.StepsPerSecond),
		(*number)(&r.PeakRSSMB)}
}

// MarshalJSON writes numbers that are not finite as null.
func (r Result) MarshalJSON() ([]byte, error) { return json.Marshal(r.json()) }

// UnmarshalJSON reads numbers that are null or absent as NaN.
func (r *Result) UnmarshalJSON(text []byte) error {
	nan := math.NaN()
	*r = Result{WallSeconds: nan, StepsPerSecond: nan, PeakRSSMB: nan}
	v := r.json()
	return json.Unmarshal(text, &v)
}

// SaveResult writes result.json, which makes the run complete. It is the last thing to write.
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
	result.ConfigSHA256, result.CRC32C = r.config.sha256(), ""
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

// Result returns the final numbers; ErrNoResult when the run is not complete, and ErrConfigChanged
// where they are of another configuration than config.json has now.
func (r *Reader) Result() (Result, error) {
	result, err := r.readResult()
	if err != nil {
		return Result{}, err
	}
	if made, now := result.ConfigSHA256, r.config.sha256(); made != "" && made != now {
		return Result{}, fmt.Errorf("%s: %w (the SHA-256 of its settings begins %.12s, result.json was made with "+
			"%.12s): put the old settings back", r.path(configFile), ErrConfigChanged, now, made)
	}
	result.ConfigSHA256, result.CRC32C = "", ""
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
		err = fmt.Errorf("its content has CRC-32C %s, and its key %s says %q", sum, resultChecksumKey, result.CRC32C)
	}
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w: %w", r.path(resultFile), ErrDamaged, err)
	}
	return result, nil
}

// number is a float64 that is null in JSON when it is NaN or infinite.
type number float64

// MarshalJSON writes the shortest text that gives the same number back.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalJSON reads null as NaN.
func (n *number) UnmarshalJSON(text []byte) error {
	*n = number(math.NaN())
	if string(text) == "null" {
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// Numbers are measurements by name. Those that are not finite are null in JSON, and null is NaN.
type Numbers map[string]float64

// MarshalJSON writes no measurements, nil or not, as an empty object.
func (m Numbers) MarshalJSON() ([]byte, error) {
	object := make(map[string]number, len(m))
	for key, v := range m {
		object[key] = number(v)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads null in the place of the object as nil.
func (m *Numbers) UnmarshalJSON(text []byte) error {
	var object map[string]number
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return err
	}
	*m = make(Numbers, len(object))
	for key, v := range object {
		(*m)[key] = float64(v)
	}
	return nil
}
