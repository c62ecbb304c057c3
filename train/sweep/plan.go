package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// schema is the version of sweep.json that this program writes; it also reads older ones.
const schema = 1

// Plan is the content of sweep.json.
type Plan struct {
	Schema int    `json:"schema"`
	Name   string `json:"name"`
	// Generations are the additions to the plan. The hash of each covers its own addition and the
	// hash before, so that the last one covers everything.
	Generations    []Generation      `json:"generations"`
	Configurations []json.RawMessage `json:"configurations"` // resolved, without members
	Tasks          []Task            `json:"tasks"`
}

// Generation is one addition to a plan.
type Generation struct {
	Tasks          int       `json:"tasks"`          // in the plan after it
	Configurations int       `json:"configurations"` // likewise
	SHA256         string    `json:"sha256"`
	Command        []string  `json:"command,omitempty"`
	Created        time.Time `json:"created"` // only informative
}

// Task is one ensemble to train. Its index is its position in the plan.
type Task struct {
	Configuration int               `json:"configuration"` // index in Plan.Configurations
	Members       []json.RawMessage `json:"members"`       // as in config.json
	Runs          []string          `json:"runs"`          // names in runs/, one per member
}

// Added counts the runs of one call of Add.
type Added struct {
	New       int // added runs
	Known     int // runs that were already in the plan
	Identical int // runs equal to another requested one, such as several sigmas for a scheme without sigma
	Tasks     int // added tasks
}

const membersKey = "members"

// run is one configuration with one member.
type run struct {
	base   runlog.Object // without members
	member json.RawMessage
}

// incidental lists the keys of the settings that do not distinguish runs.
var incidental = config.KeysWith(config.Nothing)

// identity returns the same text for equal runs: all settings except those of device and speed. It
// includes log_every, which determines the records.
func (r run) identity() string {
	return string(r.base.Without(incidental...).Text()) + string(r.member)
}

func (r run) equal(other run) bool { return r.identity() == other.identity() }

// config returns the text of the run's config.json.
func (r run) config() json.RawMessage {
	return r.base.With(membersKey, slices.Concat([]byte("["), r.member, []byte("]"))).Text()
}

func runsOf(resolved []byte) ([]run, error) {
	text, err := json.Marshal(json.RawMessage(resolved)) // escaped as when read back from the file
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	all, err := runlog.ParseObject(text)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	var members []json.RawMessage
	if err := json.Unmarshal(all.Get(membersKey), &members); err != nil || len(members) == 0 {
		return nil, fmt.Errorf("configuration: no %s: %s", membersKey, resolved)
	}
	base := all.With(membersKey, json.RawMessage("[]"))
	out := make([]run, len(members))
	for i, m := range members {
		out[i] = run{base, m}
	}
	return out, nil
}

// Add appends those runs of the configurations that the plan lacks, packed into tasks. Existing
// tasks keep their indexes.
func (p *Plan) Add(configs [][]byte, packing Packing, command []string) (Added, error) {
	var added Added
	known := map[string]bool{}
	var all []run
	for i := range p.Tasks {
		runs, err := p.runs(i)
		if err != nil {
			return added, err
		}
		for _, r := range runs {
			known[r.identity()] = true
		}
		all = append(all, runs...)
	}
	asked, first := map[string]bool{}, len(all)
	for _, config := range configs {
		runs, err := runsOf(config)
		if err != nil {
			return added, err
		}
		for _, r := range runs {
			id := r.identity()
			switch {
			case asked[id]:
				added.Identical++
			case known[id]:
				added.Known++
			default:
				added.New++
				all = append(all, r)
			}
			asked[id] = true
		}
	}
	if added.New == 0 {
		return added, nil
	}
	names, err := p.name(all, first)
	if err != nil {
		return added, err
	}
	before := len(p.Tasks)
	if err := p.pack(all[first:], names, packing); err != nil {
		return added, err
	}
	added.Tasks = len(p.Tasks) - before
	return added, p.seal(command)
}

func (p *Plan) pack(runs []run, names []string, packing Packing) error {
	place := map[string]int{} // index of a base in p.Configurations
	for i, c := range p.Configurations {
		place[string(c)] = i
	}
	groups := map[int][]int{}
	var order []int
	for i, r := range runs {
		text := string(r.base.Text())
		at, known := place[text]
		if !known {
			at = len(p.Configurations)
			place[text] = at
			p.Configurations = append(p.Configurations, json.RawMessage(text))
		}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], i)
	}
	for _, at := range order {
		most, err := packing.most(p.Configurations[at], len(runs))
		if err != nil {
			return err
		}
		members := groups[at]
		chunks := (len(members) + most - 1) / most
		for c := range chunks {
			t := Task{Configuration: at}
			for _, i := range members[c*len(members)/chunks : (c+1)*len(members)/chunks] {
				t.Members = append(t.Members, runs[i].member)
				t.Runs = append(t.Runs, names[i])
			}
			p.Tasks = append(p.Tasks, t)
		}
	}
	return nil
}

// seal adds a generation for the tasks and configurations after the last generation.
func (p *Plan) seal(command []string) error {
	g := Generation{
		Tasks: len(p.Tasks), Configurations: len(p.Configurations), Command: command,
		Created: time.Now().UTC().Truncate(time.Second),
	}
	p.Schema = schema
	var err error
	g.SHA256, err = p.digest(p.last(), g)
	p.Generations = append(p.Generations, g)
	return err
}

// last returns the newest generation, or a zero one.
func (p *Plan) last() Generation {
	if n := len(p.Generations); n > 0 {
		return p.Generations[n-1]
	}
	return Generation{}
}

// Hash returns the SHA-256 over the whole plan.
func (p *Plan) Hash() string { return p.last().SHA256 }

// Runs returns the number of runs of all tasks.
func (p *Plan) Runs() (n int) {
	for _, t := range p.Tasks {
		n += len(t.Runs)
	}
	return n
}

// digest returns the hash of a generation that follows another one.
func (p *Plan) digest(before, g Generation) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "torchpe sweep %d\n%q\n%s\n", schema, p.Name, before.SHA256)
	for _, c := range p.Configurations[before.Configurations:g.Configurations] {
		fmt.Fprintf(h, "%s\n", c)
	}
	for _, t := range p.Tasks[before.Tasks:g.Tasks] {
		text, err := json.Marshal(t)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s\n", text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (p *Plan) runs(index int) ([]run, error) {
	t := p.Tasks[index]
	base, err := runlog.ParseObject(p.Configurations[t.Configuration])
	runs := make([]run, len(t.Members))
	for i, m := range t.Members {
		runs[i] = run{base, m}
	}
	return runs, err
}

// configText returns the configuration of a task as the text of config.json.
func (p *Plan) configText(index int) (json.RawMessage, error) {
	t := p.Tasks[index]
	base, err := runlog.ParseObject(p.Configurations[t.Configuration])
	if err != nil {
		return nil, err
	}
	members, err := json.Marshal(t.Members)
	return base.With(membersKey, members).Text(), err
}

// TaskConfig reads the configuration of a task.
func (p *Plan) TaskConfig(index int) (config.Config, error) {
	text, err := p.configText(index)
	if err != nil {
		return config.Config{}, err
	}
	return config.Parse(text)
}

// encode returns the text of sweep.json, with one configuration or task per line.
func (p *Plan) encode() ([]byte, error) {
	generations, err := json.Marshal(p.Generations)
	if err != nil {
		return nil, err
	}
	name, err := json.Marshal(p.Name)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(nil)
	fmt.Fprintf(out, "{\"schema\":%d,\"name\":%s,\"generations\":%s,\n\"configurations\":[\n",
		p.Schema, name, generations)
	for i, c := range p.Configurations {
		fmt.Fprintf(out, "%s%s", lineEnd(i), c)
	}
	out.WriteString("],\n\"tasks\":[\n")
	for i, t := range p.Tasks {
		text, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "%s%s", lineEnd(i), text)
	}
	out.WriteString("]}\n")
	return out.Bytes(), nil
}

// lineEnd ends the line before the i-th element of a list.
func lineEnd(i int) string {
	if i == 0 {
		return ""
	}
	return ",\n"
}

func decode(text []byte) (*Plan, error) {
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	if head.Schema < 1 || head.Schema > schema {
		return nil, fmt.Errorf("schema %d: written by a newer torchpe; this version reads up to %d",
			head.Schema, schema)
	}
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	return &p, p.check()
}

// check returns an error if a plan differs from what was written.
func (p *Plan) check() error {
	var before Generation
	for i, g := range p.Generations {
		if g.Tasks < before.Tasks || g.Tasks > len(p.Tasks) ||
			g.Configurations < before.Configurations || g.Configurations > len(p.Configurations) {
			return fmt.Errorf("generation %d: %d tasks and %d configurations do not match "+
				"the lists", i, g.Tasks, g.Configurations)
		}
		sum, err := p.digest(before, g)
		if err != nil {
			return err
		}
		if sum != g.SHA256 {
			return fmt.Errorf("generation %d has SHA-256 %.12s but says %.12s: the file was "+
				"changed; a plan must not be edited", i, sum, g.SHA256)
		}
		before = g
	}
	if before.Tasks != len(p.Tasks) || before.Configurations != len(p.Configurations) {
		return fmt.Errorf("%d of %d tasks are in no generation: the file was changed; a plan must "+
			"not be edited", len(p.Tasks)-before.Tasks, len(p.Tasks))
	}
	for i, t := range p.Tasks {
		if t.Configuration < 0 || t.Configuration >= len(p.Configurations) || len(t.Members) == 0 ||
			len(t.Members) != len(t.Runs) {
			return fmt.Errorf("task %d: %d members, %d runs, configuration %d", i, len(t.Members),
				len(t.Runs), t.Configuration)
		}
	}
	return nil
}
