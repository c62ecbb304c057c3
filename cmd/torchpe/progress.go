package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"torchpe/internal/wording"
	"torchpe/torchpe"
	"torchpe/train"
	"torchpe/train/runlog"
)

// progress prints how far training is: a bar with the time left on a terminal, a line a record
// elsewhere.
type progress struct {
	w       io.Writer
	c       train.Config
	quiet   bool
	bars    *mpb.Progress // nil where w is no terminal
	bar     *mpb.Bar
	started time.Time
	first   int // steps that were made before
	total   int
	last    time.Time
	summary string
	told    bool // how long it takes was said, or can be read off a record
	onCPU   bool
	fitted  map[int]bool    // members that have reached their criterion
	said    map[string]bool // messages, which are printed once
}

func newProgress(w io.Writer, c train.Config, quiet bool) *progress {
	p := &progress{w: w, c: c, quiet: quiet, fitted: map[int]bool{}, said: map[string]bool{}}
	device, err := torchpe.ParseDevice(c.Device)
	p.onCPU = err == nil && device == torchpe.CPU
	if f, ok := fileOf(w); ok && !quiet && onTerminal(w) {
		p.bars = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40))
	}
	return p
}

// onTerminal reports whether w is a terminal that can draw bars.
func onTerminal(w io.Writer) bool {
	f, ok := fileOf(w)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Started begins the display.
func (p *progress) Started(done, total int) {
	p.started, p.last, p.first, p.total = time.Now(), time.Now(), done, total
	if p.quiet {
		return
	}
	if p.bars == nil {
		fmt.Fprintf(p.w, "%s: %s, step %d of %d\n", p.label(), wording.Count(len(p.c.Members), "member"), done, total)
		return
	}
	p.bar = p.bars.AddBar(int64(total),
		mpb.PrependDecorators(decor.Name(p.label()+" ")),
		mpb.AppendDecorators(
			decor.Any(func(decor.Statistics) string { return p.summary }, decor.WCSyncSpace),
			decor.EwmaETA(decor.ET_STYLE_GO, 64, decor.WCSyncSpace),
		))
	p.bar.SetCurrent(int64(done))
}

// label names the encoding, with its sigma where all members have the same.
func (p *progress) label() string {
	for _, m := range p.c.Members[1:] {
		if configurationOf(m) != configurationOf(p.c.Members[0]) {
			return p.c.PE
		}
	}
	return labelOf(p.c.PE, p.c.Members[0])
}

// labelOf names the encoding of a member, with its sigma, as run directories do: learn-1.
func labelOf(pe string, m train.Member) string {
	if m.Sigma != nil {
		return fmt.Sprintf("%s-%g", pe, *m.Sigma)
	}
	return pe
}

// configurationOf returns a key that is equal for members that differ in their seed alone.
func configurationOf(m train.Member) string {
	return fmt.Sprintln(numberText("%g", m.Sigma), m.LR, m.WeightDecay, numberText("%g", m.PELR),
		numberText("%g", m.PEWeightDecay))
}

// byConfiguration groups records by the configurations of their members: a mean is over seeds
// alone.
func (p *progress) byConfiguration(rs []runlog.Record) [][]runlog.Record {
	var out [][]runlog.Record
	at := map[string]int{}
	for _, r := range rs {
		key := configurationOf(p.c.Members[r.Member])
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key], out = i, append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// tellAfter is the time that training is measured for before its length is told.
const tellAfter = 10 * time.Second

// Stepped moves the bar, and tells how long training takes once that can be said.
func (p *progress) Stepped(done int) {
	if took := time.Since(p.started); !p.told && !p.quiet && took >= tellAfter {
		p.told = true
		p.Noticed(p.forecast(done, took))
	}
	if p.bar != nil {
		now := time.Now()
		p.bar.EwmaSetCurrent(int64(done), now.Sub(p.last))
		p.last = now
	}
}

// forecast tells the time that is left, and from an hour on what would make it shorter.
func (p *progress) forecast(done int, took time.Duration) string {
	step := took / time.Duration(max(1, done-p.first))
	left := step * time.Duration(p.total-done)
	text := fmt.Sprintf("step %d of %d, %v a step: about %s left", done, p.total, step.Round(100*time.Microsecond),
		timeText(left.Seconds()))
	if p.c.Until != "" {
		text += " at most"
	}
	if left < time.Hour {
		return text
	}
	length, device := "--epochs", ""
	if !p.c.HasPuzzles() {
		length = "--steps"
	}
	if p.onCPU {
		device = ", and so does a GPU (--device cuda)"
	}
	return text + fmt.Sprintf("; fewer %s, a smaller --batch, --d-model or --layers take less%s. Ctrl-C saves, and "+
		"--resume goes on", length, device)
}

// Logged shows, for each configuration, the mean over the members that have it.
func (p *progress) Logged(rs []runlog.Record) {
	for _, r := range rs {
		if r.Fit != nil && r.Fit.Reached {
			p.fitted[r.Member] = true
		}
	}
	var parts []string
	groups := p.byConfiguration(rs)
	for _, g := range groups {
		text := p.summarise(g)
		if len(groups) > 1 {
			text = labelOf(p.c.PE, p.c.Members[g[0].Member]) + ": " + text
		}
		parts = append(parts, text)
	}
	p.summary = strings.Join(parts, "; ")
	r := rs[0]
	if r.Fit != nil {
		p.summary += fmt.Sprintf(" fitted %d of %d", len(p.fitted), len(p.c.Members))
	}
	if p.quiet || p.bars != nil {
		return
	}
	p.told = p.told || p.total-r.Step < r.Step-p.first // nearly over
	at := fmt.Sprintf("epoch %d/%d step %d", r.Epoch, p.c.Epochs, r.Step)
	if !p.c.HasPuzzles() {
		at = fmt.Sprintf("step %d/%d", r.Step, p.total)
	}
	pace := fmt.Sprintf("%.1f ms a step", r.StepMS)
	if left := p.total - r.Step; left > 0 {
		seconds := time.Since(p.started).Seconds() * float64(left) / math.Max(1, float64(r.Step-p.first))
		pace += fmt.Sprintf(", %s left", timeText(seconds))
	}
	fmt.Fprintf(p.w, "%s %s %s (%s)\n", p.label(), at, p.summary, pace)
}

// summarise returns the mean measurements of members of one configuration.
func (p *progress) summarise(rs []runlog.Record) string {
	mean := func(f func(runlog.Record) float64) float64 { return meanOf(rs, f) }
	loss := fmt.Sprintf("loss %.4f ", mean(func(r runlog.Record) float64 { return r.Loss }))
	if p.c.Masked != nil {
		return loss + maskedSummary(rs)
	}
	text, heldOut := loss+fmt.Sprintf("train %.3f", mean(func(r runlog.Record) float64 { return r.TrainAccuracy })),
		"validation"
	if p.c.Sequence != nil {
		heldOut = "longer"
	}
	if v := mean(func(r runlog.Record) float64 { return r.ValidationAccuracy }); !math.IsNaN(v) {
		text += fmt.Sprintf(" %s %.3f", heldOut, v)
	}
	return text + fmt.Sprintf(" IID %.3f", mean(func(r runlog.Record) float64 { return r.IIDAccuracy }))
}

// meanOf returns the mean of a measurement over those members that have it.
func meanOf(rs []runlog.Record, f func(runlog.Record) float64) float64 {
	sum, n := 0.0, 0
	for _, r := range rs {
		if v := f(r); !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n)
}

// maskedSummary shows the test errors and the modularity of masked prediction.
func maskedSummary(rs []runlog.Record) string {
	levels, scored := map[string]bool{}, false
	for _, r := range rs {
		if r.MaskedMeasures != nil { // nil for a member that diverged
			scored = scored || r.Modularity != nil
			for level := range r.TestMSEByMask {
				levels[level] = true
			}
		}
	}
	text := "test MSE"
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		text += fmt.Sprintf(" %.4f (%s masked)", meanOf(rs, func(r runlog.Record) float64 {
			if r.MaskedMeasures == nil {
				return math.NaN()
			}
			return orNaN(r.TestMSEByMask, level)
		}), level)
	}
	if !scored {
		return text
	}
	return text + fmt.Sprintf(" modularity %.3f", meanOf(rs, func(r runlog.Record) float64 {
		if r.MaskedMeasures == nil || r.Modularity == nil {
			return math.NaN()
		}
		return *r.Modularity
	}))
}

// Noticed prints a message, once.
func (p *progress) Noticed(message string) {
	if p.said[message] {
		return
	}
	p.said[message] = true
	w := p.w
	if p.bars != nil {
		w = p.bars
	}
	fmt.Fprintln(w, "torchpe: "+strings.TrimSpace(message))
}

// Close ends the display.
func (p *progress) Close() {
	if p.bar != nil {
		p.bar.Abort(false)
	}
	if p.bars != nil {
		p.bars.Wait()
	}
}
