package series

import (
	"math"
	"regexp"
	"strings"

	"torchpe/data/array/text"
)

// indexNames matches what programs call a column that counts rows or says their time or whose they are,
// perhaps with a unit behind it; pandas writes the first.
var indexNames = regexp.MustCompile(`^(unnamed: \d+|index|idx|row|time|times|timestamps?|time ?stamps?|` +
	`date|dates|datetime|date ?time|day|days|hours?|minutes?|seconds?|secs?|millis(econds)?|msec|ms|years?|` +
	`months?|weeks?|quarters?|t|frames?|samples?|tr|trs|volumes?|scans?|epoch|onset|elapsed|step|` +
	`subjects?|sub|participants?|patients?|sessions?|ses|runs?|trials?|blocks?)` +
	`( ?[\[(/#].*| (in )?(id|s|sec|secs|seconds|ms|min|h|hours|days|years|tr|trs|utc|gmt|index|points?|no|` +
	`number)\.?)?$`)

// date matches the text of a date or a time of day.
var date = regexp.MustCompile(`^\d{1,4}([-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|:\d\d(:\d\d.*)?)$`)

// indexColumn returns the name of a column of a table with names where it seems to count frames or to
// say their time or subject, else nothing. It never falls, and is called like an index; or it is the
// first or the last of frames without names, and rises by equal steps. Such a column can be a token all the same.
func indexColumn(t text.Table) string {
	rows, columns := t.Shape[0], t.Shape[1]
	if rows < 3 || columns < 2 {
		return ""
	}
	for j, name := range t.Columns {
		spaced := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", " ")
		named := indexNames.MatchString(spaced)
		first, once := t.Data[j], t.Data[columns+j]-t.Data[j]
		counts := t.Rows == nil && (j == 0 || j == columns-1) && once > 0
		for i := 1; i < rows && (named || counts); i++ {
			step := t.Data[i*columns+j] - t.Data[(i-1)*columns+j]
			counts = counts && math.Abs(step-once) <= 1e-6*once
			named = named && step >= 0
		}
		if counts || named && t.Data[(rows-1)*columns+j] > first {
			return name
		}
	}
	return ""
}
