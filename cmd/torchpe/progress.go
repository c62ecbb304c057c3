package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// progress shows the progress of training: on a terminal a bar with the time left, elsewhere one line per
// record.
type progress struct {
	w       io.Writer
	c       train.Config
	quiet   bool
	bars    *mpb.Progress // nil if w is not a terminal
	bar     *mpb.Bar
	started time.Time
	first   int // steps made before
	total   int
	last    time.Time
	summary string
	told    bool            // the time left was printed, or a record shows it
	said    map[string]bool // messages, which are printed once
}

func newProgress(w io.Writer, c train.Config, quiet bool) *progress {
	p := &progress{w: w, c: c, quiet: quiet, said: map[string]bool{}}
	if f, ok := fileOf(w); ok && !quiet && onTerminal(w) {
		p.bars = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40))
	}
	return p
}

func (p *progress) Started(done, total int) {
	p.started, p.last, p.first, p.total = time.Now(), time.Now(), done, total
	switch {
	case p.quiet:
	case p.bars == nil:
		members := ""
		if n := len(p.c.Members); n > 1 {
			members = wording.Count(n, "member") + ", "
		}
		fmt.Fprintf(p.w, "%s: %sstep %d of %d\n", p.label(), members, done, total)
	default:
		p.bar = p.bars.AddBar(int64(total),
			mpb.PrependDecorators(decor.Name(p.label()+" ")),
			mpb.AppendDecorators(
				decor.Any(func(decor.Statistics) string { return p.summary }, decor.WCSyncSpace),
				decor.EwmaETA(decor.ET_STYLE_GO, 64, decor.WCSyncSpace),
			))
		p.bar.SetCurrent(int64(done))
	}
}

// label names the encoding, with its sigma if all members have the same, and the seed of one member.
func (p *progress) label() string {
	for _, m := range p.c.Members[1:] {
		if configurationOf(m) != configurationOf(p.c.Members[0]) {
			return p.c.PE
		}
	}
	label := config.Label(p.c.PE, p.c.Members[0].Sigma)
	if len(p.c.Members) == 1 {
		label += fmt.Sprintf(" seed %d", p.c.Members[0].Seed)
	}
	return label
}

// configurationOf returns a key that is equal for members that differ only in their seed.
func configurationOf(m train.Member) string {
	m.Seed = 0
	text, _ := json.Marshal(m) // never fails: only numbers
	return string(text)
}

// byConfiguration groups records by the configurations of their members, so that means are only over seeds.
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

// tellAfter is the time after which the time left is estimated and printed.
const tellAfter = 10 * time.Second

// Stepped moves the bar, and prints the time left once it can be estimated.
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

func (p *progress) forecast(done int, took time.Duration) string {
	step := took / time.Duration(max(1, done-p.first))
	left := step * time.Duration(p.total-done)
	return fmt.Sprintf("step %d of %d, %v per step: about %s", done, p.total, step.Round(100*time.Microsecond),
		p.leftText(left.Seconds()))
}

// leftText writes the time left. A run that ends when its models are fitted may take less.
func (p *progress) leftText(seconds float64) string {
	text := wording.Seconds(seconds) + " left"
	if p.c.Until != "" {
		text += " at most"
	}
	return text
}

// Logged shows the mean over the newest records of the members of each configuration.
func (p *progress) Logged(rs []runlog.Record) {
	var parts []string
	groups := p.byConfiguration(rs)
	for _, g := range groups {
		text := p.summarise(g)
		if len(groups) > 1 {
			text = config.Label(p.c.PE, p.c.Members[g[0].Member].Sigma) + ": " + text
		}
		parts = append(parts, text)
	}
	p.summary = strings.Join(parts, "; ")
	if rs[0].Fit != nil {
		fitted := 0
		for _, r := range rs {
			if r.Fit != nil && r.Fit.Reached {
				fitted++
			}
		}
		p.summary += fmt.Sprintf(", %s: %d of %d", p.c.Facts().FitHeading(rs[0].Fit), fitted, len(rs))
	}
	if p.quiet || p.bars != nil {
		return
	}
	r := slices.MaxFunc(rs, func(a, b runlog.Record) int { return a.Step - b.Step })
	p.told = p.told || p.total-r.Step < r.Step-p.first // nearly finished
	at := fmt.Sprintf("step %d/%d", r.Step, p.total)
	if p.c.Facts().InEpochs {
		at = fmt.Sprintf("epoch %d/%d step %d", r.Epoch, p.c.Epochs, r.Step)
	}
	pace := number.Fixed(r.StepMS, 1) + " ms per step"
	if left := p.total - r.Step; left > 0 {
		seconds := time.Since(p.started).Seconds() * float64(left) / math.Max(1, float64(r.Step-p.first))
		pace += ", " + p.leftText(seconds)
	}
	fmt.Fprintf(p.w, "%s %s %s (%s)\n", p.label(), at, p.summary, pace)
}

// summarise returns the mean measures of members of one configuration. It leaves out measures that no member
// has.
func (p *progress) summarise(rs []runlog.Record) string {
	task, measured := p.c.Facts(), runlog.Numbers{}
	for _, r := range rs {
		maps.Copy(measured, r.Measures)
	}
	var parts []string
	for _, key := range config.ExpandMeasures(task.Progress, measured) {
		mean := meanOf(rs, key)
		if math.IsNaN(mean) && key != "loss" {
			continue
		}
		space := " "
		if strings.Contains(key, "/") { // its heading ends with a number
			space = ": "
		}
		parts = append(parts, runlog.HeadingIn(task.Measures, key)+space+runlog.FormatMeasure(key, mean))
	}
	return strings.Join(parts, ", ")
}

// meanOf returns the mean of a measure over the records that have it, or NaN if none has it.
func meanOf(rs []runlog.Record, key string) float64 {
	sum, n := 0.0, 0
	for _, r := range rs {
		if v := r.Measures.Get(key); !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n)
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

func (p *progress) Close() {
	if p.bar != nil {
		p.bar.Abort(false)
	}
	if p.bars != nil {
		p.bars.Wait()
	}
}
