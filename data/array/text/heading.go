package text

import (
	"regexp"
	"strings"
)

// idHeading matches headings of a column of names or numbers of tokens: node, Node ID, roi_index.
var idHeading = regexp.MustCompile(`(?i)^(` + strings.Join([]string{
	things + `s?`, `#`, `unnamed: 0`, `(` + things + `)?[ _.-]?` + numbers + `[.#]?`,
	`.*[ _.-](id|idx|index)`}, "|") + `)$`)

const (
	things = `(token|region|parcel|node|vertex|sensor|channel|chan|ch|electrode|elec|gene|roi|site|` +
		`station|neuron|voxel)`
	numbers = `(ids?|idx|index|indices|no|nr|num|numbers?|names?|labels?|code|key)`
)

// IsID reports whether a column is headed as one of names or numbers of tokens.
func IsID(heading string) bool { return idHeading.MatchString(strings.TrimSpace(heading)) }

var tokenHeading = regexp.MustCompile(`(?i)^` + things + `s?([ _.-]?` + numbers + `)?$`)

// IsToken reports whether a column is headed as one of tokens: Gene, roi_id.
func IsToken(heading string) bool { return tokenHeading.MatchString(strings.TrimSpace(heading)) }
