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

	"torchpe/train"
	"torchpe/train/runlog"
)

// progress tells a person how training goes: a bar with the time left on a terminal, a line a record elsewhere.
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
}

func newProgress(w io.Writer, c train.Config, quiet bool) *progress {
	p := &progress{w: w, c: c, quiet: quiet}
	if f, ok := w.(*os.File); ok && !quiet && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
	}
	return p
}

// Started begins the display.
func (p *progress) Started(done, total int) {
	p.started, p.last, p.first, p.total = time.Now(), time.Now(), done, total
	if p.quiet {
		return
	}
	if p.bars == nil {
		fmt.Fprintf(p.w, "%s: %d members, step %d of %d\n", p.label(), len(p.c.Members), done, total)
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

// label names the configuration.
func (p *progress) label() string {
	if s := p.c.Members[0].Sigma; s != nil {
		return fmt.Sprintf("%s-%g", p.c.PE, *s)
	}
	return p.c.PE
}

// Stepped moves the bar.
func (p *progress) Stepped(done int) {
	if p.bar != nil {
		now := time.Now()
		p.bar.EwmaSetCurrent(int64(done), now.Sub(p.last))
		p.last = now
	}
}

// Logged shows the mean over the members.
func (p *progress) Logged(rs []runlog.Record) {
	mean := func(f func(runlog.Record) float64) float64 { return meanOf(rs, f) }
	r := rs[0]
	p.summary = fmt.Sprintf("train %.3f validation %.3f IID %.3f", mean(func(r runlog.Record) float64 { return r.TrainAccuracy }),
		mean(func(r runlog.Record) float64 { return r.ValidationAccuracy }), mean(func(r runlog.Record) float64 { return r.IIDAccuracy }))
	if p.c.Masked != nil {
		p.summary = maskedSummary(rs)
	}
	if p.quiet || p.bars != nil {
		return
	}
	left := time.Duration(float64(time.Since(p.started)) * float64(p.total-r.Step) / math.Max(1, float64(r.Step-p.first)))
	at := fmt.Sprintf("epoch %d/%d step %d", r.Epoch, p.c.Epochs, r.Step)
	if p.c.Masked != nil {
		at = fmt.Sprintf("step %d/%d", r.Step, p.total)
	}
	fmt.Fprintf(p.w, "%s %s loss %.4f %s (%.1f ms a step, %s left)\n", p.label(), at,
		mean(func(r runlog.Record) float64 { return r.Loss }), p.summary, r.StepMS, left.Round(time.Second))
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

// Noticed prints a message.
func (p *progress) Noticed(message string) {
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
