package train

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/lst"
	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/train/runlog"
)

// CheckUntil returns an error where no record can ever reach Until: none has that number, or the bound
// is out of reach. What the data decide, such as whether there are modules, is not looked at.
func (c Config) CheckUntil() error {
	scheme, err := pe.Find(c.PE)
	if err != nil || c.Until == "" {
		return err
	}
	names := []string{"loss"}
	add := func(format string, keys ...int) {
		for _, key := range keys {
			names = append(names, fmt.Sprintf(format, key))
		}
	}
	switch {
	case c.Masked != nil:
		names = append(names, "train_mse")
		for _, level := range c.Masked.TestLevels {
			names = append(names, fmt.Sprintf("test_mse_%.2f", level))
		}
		names = append(names, ofModules...)
	case c.Sequence != nil:
		trained, longer := c.Sequence.Lengths()
		places := max(c.Sequence.TrainLength, c.Sequence.Places)
		longer = slices.DeleteFunc(longer, func(n int) bool {
			return scheme.CheckTokens(places, n, c.PEOptions) != nil
		})
		names = append(names, "train", "iid")
		if len(longer) > 0 {
			names = append(names, "validation")
		}
		lengths := slices.Concat(trained, longer)
		add("length_%d", lengths...)
		if c.Sequence.Text != nil {
			add("perplexity_%d", lengths...)
		}
	default:
		names = append(names, "train", "iid", "validation")
		for _, condition := range lst.Conditions() {
			names = append(names, "validation_"+condition.Label())
		}
		add("tokens_%d", c.EvalTokens...)
	}
	names = append(names, ofTables...)
	options, err := scheme.Resolve(c.Fidelity, c.PEOptions)
	if err != nil {
		return err
	}
	facts, err := scheme.Describe(pe.Size{Tokens: 16, DModel: c.DModel, Heads: c.Heads, Layers: c.Layers}, options)
	if err == nil && facts.Sites&pe.AtEmbed == 0 {
		names = without(names, ofTables, ofModules)
	}
	return c.checkUntil(names)
}

// The numbers that records have where the encoding adds a table, and of these where there are modules.
var (
	ofTables  = []string{"pe_norm", "pe_effective_rank"}
	ofModules = []string{"modularity", "clustering"}
)

// without returns names but those of other lists.
func without(names []string, others ...[]string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(others, func(other []string) bool { return slices.Contains(other, name) })
	})
}

// checkUntil checks Until where records have the numbers of these names.
func (c Config) checkUntil(names []string) error {
	criterion, err := runlog.ParseCriterion(c.Until)
	switch best := criterion.Best(); {
	case err != nil:
		return fmt.Errorf("--until: %w", err)
	case !slices.Contains(names, criterion.Number):
		return fmt.Errorf("--until %s: records of this run have no number %s, so training would never stop; "+
			"they have %s%s", c.Until, criterion.Number, strings.Join(names, ", "),
			wording.Hint(criterion.Number, names))
	case !criterion.AtLeast() && criterion.Bound < best, criterion.AtLeast() && criterion.Bound > best:
		return fmt.Errorf("--until %s: %s is never beyond %g, so training would never stop", c.Until,
			criterion.Number, best)
	}
	return nil
}

// checkUntil returns an error where the data or the encoding leave records without the number of Until.
func (e *ensemble) checkUntil() error {
	c := e.config
	criterion, err := runlog.ParseCriterion(c.Until)
	if c.Until == "" {
		return nil
	}
	if err != nil {
		return err
	}
	missing := ""
	tables, err := e.peTables()
	if len(tables.blocks) == 0 && slices.Contains(slices.Concat(ofTables, ofModules), criterion.Number) {
		missing = "the encoding adds no table of positions"
	}
	switch t := e.task.(type) {
	case *maskedTask:
		if t.table.Modules == nil && slices.Contains(ofModules, criterion.Number) {
			missing = "the modules of the tokens are not known (--modules)"
		}
	case *lstTask:
		label, ok := strings.CutPrefix(criterion.Number, "validation_")
		known := func(c lst.Condition) bool { return c.Label() == label }
		if ok && !slices.ContainsFunc(t.splits.validation.condition, known) {
			missing = "no validation puzzle has that condition"
		} else if criterion.Number == "iid" && t.splits.iid.n == 0 {
			missing = "no puzzle is held out for the IID test"
		}
	}
	if err == nil && missing != "" {
		err = &ConfigError{fmt.Errorf("--until %s: records of this run have no number %s, so training would "+
			"never stop: %s", c.Until, criterion.Number, missing)}
	}
	return err
}
