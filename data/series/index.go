package series

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/data/partition"
)

// indexNames matches names of columns that count rows or give their time, subject or label, optionally
// with a unit; pandas writes the first.
var indexNames = regexp.MustCompile(`^(unnamed: \d+|index|idx|row|time|times|timestamps?|ts|time ?stamps?|` +
	`date|dates|datetime|date ?time|day|days|hours?|minutes?|seconds?|secs?|millis(econds)?|msec|ms|years?|` +
	`months?|weeks?|quarters?|t|frames?|samples?|tr|trs|volumes?|scans?|epoch|onset|elapsed|step|` + groups + `)` +
	ofIndex)

// groupNames matches names of columns that say whose or which the frames are.
var groupNames = regexp.MustCompile(`^(` + groups + `)` + ofIndex)

const (
	groups = `subjects?|sub|participants?|patients?|sessions?|ses|runs?|trials?|blocks?|conditions?|class|classes|` +
		`diagnos[ie]s|sites?|scanners?|sex|gender|ages?|folds?`
	ofIndex = `( ?[\[(/#].*| (in )?(id|s|sec|secs|seconds|ms|min|h|hours|days|years|tr|trs|utc|gmt|index|` +
		`points?|no|number)\.?)?$`
)

// date matches the text of a date or a time of day, a month or quarter of a year, and dates in
// English. MARCH1 and SEPT-2 are genes, and Monkey 1 is not a Monday.
var date = regexp.MustCompile(`(?i)^(\d{1,4}([-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|:\d\d(:\d\d.*)?)` +
	`|` + year + `[-/.](0?[1-9]|1[0-2])|` + year + `[- ]?Q[1-4]|Q[1-4][-/ ]?` + year +
	`|\d{1,2}[-/ ]` + month + `[-/, ]+(\d\d|` + year + `)([ T].*)?` +
	`|` + month + `[-., ]+(\d{1,2},? )?` + year + `([ T].*)?` +
	`|(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?\.?,? .*\d.*)$`)

const (
	year  = `(1[89]|2[01])\d\d`
	month = `(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|` +
		`nov(ember)?|dec(ember)?)`
)

// indexColumns returns, in quotes, the names of the columns of a table that seem to count frames or
// give their time, subject or label, and the numbers of those without names. Such a column has the name of
// an index and rises, or falls, in nearly all steps; or its name is one of groups, or heads modules, and it
// has integers; or its name is one of identifiers and it has distinct integers; or it is the first or the
// last of nameless columns and rises in equal steps. It may be a token nevertheless.
func indexColumns(t text.Table) (found []string) {
	rows, columns := t.Shape[0], t.Shape[1]
	if rows < 3 || columns < 2 {
		return nil
	}
	for j := range columns {
		name, named, identifies, groups := fmt.Sprint(j+1), false, false, false
		if t.Columns != nil {
			name = t.Columns[j]
			spaced := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", " ")
			named, identifies = indexNames.MatchString(spaced), text.IsID(name)
			groups = groupNames.MatchString(spaced) || partition.IsHeading(name)
		}
		at := func(i int) float64 { return t.Data[i*columns+j] }
		counts := t.Rows == nil && (j == 0 || j == columns-1) && equalSteps(rows, 1e-6, at)
		if !named && !groups && !identifies && !counts {
			continue
		}
		up, down, seen := 0, 0, map[float64]bool{at(0): true}
		whole := at(0) == math.Trunc(at(0))
		for i := 1; i < rows; i++ {
			v := at(i)
			step := v - at(i-1)
			whole, seen[v] = whole && v == math.Trunc(v), true
			if step > 0 {
				up++
			} else if step < 0 {
				down++
			}
		}
		const enough = 3 // steps in one direction for each in the other: several runs in sequence
		ordered := up > 0 && up >= enough*down || down > 0 && down >= enough*up
		distinct := len(seen) == rows
		if counts || named && ordered || whole && (groups || identifies && distinct) {
			found = append(found, strconv.Quote(name))
		}
	}
	return found
}

// equalSteps reports whether values rise in equal steps, up to a share of a step.
func equalSteps(n int, share float64, at func(int) float64) bool {
	if n < 3 || !(at(1)-at(0) > 0) {
		return false
	}
	once := at(1) - at(0)
	for i := 2; i < n; i++ {
		if !(math.Abs(at(i)-at(i-1)-once) <= share*once) {
			return false
		}
	}
	return true
}

// isHeading reports whether the first name of rows seems to stand above the others.
func isHeading(first string) bool {
	spaced := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(first)), "_", " ")
	return text.IsID(first) || text.IsToken(first) || indexNames.MatchString(spaced)
}

// rowsAreTokens reports whether the rows of a table with names in both directions may be its
// tokens: the heading of the first column is one of tokens, or the columns count, are dates, or are
// years in order.
func rowsAreTokens(t text.Table) bool {
	if t.Columns == nil || t.Rows == nil || slices.ContainsFunc(t.Rows, isTime) ||
		slices.ContainsFunc(t.Rows, text.IsNumber) {
		return false
	}
	_, count := arrayfile.Numbering(t.Columns)
	years := len(t.Columns) > 1
	for i, name := range t.Columns {
		year, err := strconv.Atoi(name)
		years = years && err == nil && year > 1800 && year < 2200 &&
			(i == 0 || name > t.Columns[i-1])
	}
	return text.IsToken(t.Corner) || count || years ||
		!slices.ContainsFunc(t.Columns, func(name string) bool { return !isTime(name) })
}

// isTime reports whether a text is a date or a time of day.
func isTime(name string) bool { return date.MatchString(name) }
