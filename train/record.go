// Records: measurements during training, and where they are written.

package train

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"torchpe/internal/wording"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// checkUntil returns an error if records of the run will lack the number of Until, or if it holds
// for an untrained model. An accuracy may hold by chance, and a taken model has been trained.
func (t *trainer) checkUntil() error {
	if t.config.Until == "" {
		return nil
	}
	fill, err := t.measure()
	if err != nil {
		return err
	}
	for m := range t.members() {
		r := runlog.Record{Member: m, Measures: runlog.Numbers{}}
		fill(&r)
		v, measured := r.Measures[t.criterion.Key]
		if !measured {
			keys := r.Measures.Keys()
			return &ConfigError{fmt.Errorf("--until %s: records of this run have no number %s, so training would "+
				"never stop; they have %s%s", t.config.Until, t.criterion.Key, strings.Join(keys, ", "),
				wording.Hint(t.criterion.Key, keys))}
		}
		if t.config.From == nil && !t.criterion.IsAccuracy() && t.criterion.Met(v) {
			return &ConfigError{fmt.Errorf("--until %s: it is %.4g before training, so training would stop at once",
				t.config.Until, v)}
		}
	}
	return t.checkRank()
}

// checkRank returns an error if Until asks for a rank larger than tables of this size can have.
func (t *trainer) checkRank() error {
	tables, err := t.peTables()
	if err != nil || t.criterion.Key != "pe_effective_rank" {
		return err
	}
	if most := min(tables.tokens, tables.width); t.criterion.Bound > float64(most) {
		return &ConfigError{fmt.Errorf("--until %s: tables of %d tokens and %d columns have a rank of at most %d, "+
			"so training would never stop", t.config.Until, tables.tokens, tables.width, most)}
	}
	return nil
}

// measure measures all members. fill adds a member's numbers to its record.
func (t *trainer) measure() (fill func(r *runlog.Record), err error) {
	tables, err := t.peTables()
	if err != nil {
		return nil, err
	}
	shares, err := t.gradientShares()
	if err != nil {
		return nil, err
	}
	var ofTask measuresFiller
	err = t.retryAfterOOM(func() (err error) {
		ofTask, err = t.task.measure(t.ensemble, tables)
		return err
	})
	if err != nil {
		return nil, err
	}
	sums, err := t.buffers.sums()
	return func(r *runlog.Record) {
		r.Measures["loss"] = sums.loss[r.Member] / sums.examples
		tables.addNormAndRank(r.Member, r.Measures)
		t.motion.measure(r.Member, tables, shares[r.Member], r.Measures)
		r.Map = t.motion.mapOf(r.Member, tables)
		ofTask(r.Member, r.Measures, sums)
	}, err
}

// record measures all members and appends a record of each.
func (t *trainer) record() error {
	t.watchdog.notify(t.state.step)
	stepMS := 1000 * time.Since(t.logged).Seconds() / float64(max(1, t.state.step-t.loggedAt))
	fill, err := t.measure()
	if err != nil {
		return err
	}
	perEpoch := t.task.stepsPerEpoch()
	epoch := (t.state.step + perEpoch - 1) / perEpoch
	var records []runlog.Record
	for m := range t.members() {
		if t.hasStopped(m) {
			continue
		}
		r := runlog.Record{Step: t.state.step, Epoch: epoch, Member: m, Seed: int64(t.seeds[m]),
			Sigma: t.config.Members[m].Sigma, WallSeconds: t.state.seconds, StepMS: stepMS,
			Measures: runlog.Numbers{}}
		if t.active[m] {
			fill(&r)
		}
		t.updateFit(&r)
		if t.fits != nil {
			fit := t.fits[m]
			r.Fit = &fit
		}
		records = append(records, r)
	}
	if err := t.run.Append(records...); err != nil {
		return err
	}
	t.appendToBoard(records)
	t.loggedAt = t.state.step
	if err := t.buffers.reset(newTrainSums(t.members()), t.active); err != nil {
		return err
	}
	var newest []runlog.Record
	for _, r := range t.last {
		newest = append(newest, *r)
	}
	t.observer.Logged(newest)
	t.logged = time.Now()
	return nil
}

// openBoard opens the event files for TensorBoard. A failure is reported, but training continues.
func (t *trainer) openBoard() {
	if !t.config.TensorBoard {
		return
	}
	var err error
	if t.board, err = t.run.OpenBoard(curveNames(t.config)); err != nil {
		t.dropBoard(err)
	}
}

func (t *trainer) appendToBoard(records []runlog.Record) {
	if t.board == nil {
		return
	}
	if err := t.board.Append(records...); err != nil {
		t.dropBoard(err)
	}
}

func (t *trainer) dropBoard(err error) {
	t.board = nil
	t.observer.Noticed(fmt.Sprintf(
		"training continues without event files for TensorBoard: %v; metrics.jsonl has all records", err))
}

// curveNames names each member by its PE and seed, learn-0.2_seed1, and by the settings and the
// number that distinguish it from the others.
func curveNames(c Config) []string {
	names := make([]string, len(c.Members))
	var differing []config.Setting
	for _, s := range config.MemberSettings() {
		own := func(m Member) float64 { return orElse(s.Own(m), -1) }
		differs := func(m Member) bool { return own(m) != own(c.Members[0]) }
		if s.CurveName != "" && slices.ContainsFunc(c.Members, differs) {
			differing = append(differing, s)
		}
	}
	seen := map[string]bool{}
	for i, m := range c.Members {
		name := runlog.CurveName(c.PE, m.Sigma, m.Seed)
		for _, s := range differing {
			if of := s.Of(m); of != nil {
				name += fmt.Sprintf("_%s%g", s.CurveName, *of)
			}
		}
		if seen[name] {
			name += fmt.Sprintf("_member%d", i)
		}
		seen[name], names[i] = true, name
	}
	return names
}
