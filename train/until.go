package train

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/train/runlog"
)

// CheckUntil returns an error where no record can ever reach Until: none has that number, or the bound
// is out of reach. What the data decide, such as whether there are modules, is not looked at.
func (c Config) CheckUntil() error {
	encoding, err := c.encoding()
	if err != nil || c.Until == "" {
		return err
	}
	criterion, err := runlog.ParseCriterion(c.Until)
	if err != nil {
		return fmt.Errorf("--until: %w", err)
	}
	keys := c.recordedKeys(encoding)
	best, falls := criterion.Scale().Best, criterion.Scale().Falls
	switch {
	case !slices.Contains(keys, criterion.Key):
		return fmt.Errorf("--until %s: %s is no number at which this run can stop; these are %s%s", c.Until,
			criterion.Key, strings.Join(keys, ", "), wording.Hint(criterion.Key, keys))
	case falls && criterion.Bound < best, !falls && criterion.Bound > best:
		return fmt.Errorf("--until %s: %s is never beyond %g, so training would never stop", c.Until,
			criterion.Key, best)
	}
	return nil
}

// recordedKeys returns the keys of the numbers that records of the run may have and that Until takes: not
// those of single blocks and positions.
func (c Config) recordedKeys(e encoding) (keys []string) {
	facts, err := e.Describe(pe.Size{Tokens: 16, DModel: c.DModel, Heads: c.Heads, Layers: c.Layers}, e.options)
	addsNoTable := err == nil && facts.Sites&pe.AtEmbed == 0
	isTrained := e.About().Parameters != "none"
	parts, lacking := c.maker().recorded(c, e)
	for _, m := range runlog.Measures() {
		switch {
		case m.Tasks&c.Facts().Measures == 0 || m.AtEnd, addsNoTable && m.Needs != runlog.OfModel,
			!isTrained && m.Needs == runlog.OfTrained:
		case m.IsFamily():
			for _, part := range parts[m.Family()] {
				keys = append(keys, m.Family()+"/"+part)
			}
		case m.Key != lacking:
			keys = append(keys, m.Key)
		}
	}
	return keys
}

func texts(numbers []int) (out []string) {
	for _, n := range numbers {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

// checkUntil returns an error where the data or the encoding leave records without the number of Until.
func (e *ensemble) checkUntil() error {
	criterion, ok := e.config.criterion()
	if e.config.Until == "" || !ok {
		return nil
	}
	measure, _ := runlog.FindMeasure(criterion.Key)
	tables, err := e.peTables()
	if err != nil {
		return err
	}
	missing := e.task.whyMissing(measure, criterion.Key)
	switch {
	case missing != "":
	case len(tables.blocks) == 0 && measure.Needs != runlog.OfModel:
		missing = "the encoding adds no table of positions"
	case e.model.EncodingSize() == 0 && measure.Needs == runlog.OfTrained:
		missing = "the encoding's tables are not trained"
	}
	most := min(tables.tokens, tables.width)
	if missing == "" && criterion.Key == "pe_effective_rank" && criterion.Bound > float64(most) {
		return &ConfigError{fmt.Errorf("--until %s: tables of %d tokens and %d columns have no rank beyond %d, so "+
			"training would never stop", e.config.Until, tables.tokens, tables.width, most)}
	}
	if missing != "" {
		return &ConfigError{fmt.Errorf("--until %s: records of this run have no number %s, so training would "+
			"never stop: %s", e.config.Until, criterion.Key, missing)}
	}
	return nil
}
