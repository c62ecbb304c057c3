package plural

import (
	"fmt"
	"strings"
)

// List joins texts by commas, at most so many, and counts the others.
func List(most int, texts []string) string {
	if len(texts) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), len(texts)-most)
	}
	return strings.Join(texts, ", ")
}
