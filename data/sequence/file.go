package sequence

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	"torchpe/internal/wording"
)

// DrawMany returns examples whose inputs have a length. The same seed draws the same examples.
func (t Task) DrawMany(count, length int, seed uint64) (all []Example) {
	r := rand.New(rand.NewPCG(seed, uint64(length)))
	for range count {
		all = append(all, t.Draw(r, length))
	}
	return all
}

// Write writes a line for each example: input, output, and the number of characters that count.
func (t Task) Write(w io.Writer, examples []Example) error {
	for _, e := range examples {
		if _, err := fmt.Fprintf(w, "%s %s %d\n", t.Text(e.Input), t.OutputText(e.Output), e.Scored); err != nil {
			return err
		}
	}
	return nil
}

// Lines counts the lines of a file, and has the lengths of the shortest and the longest input.
type Lines struct{ Count, Shortest, Longest int }

// Check reads what Write writes and returns an error for the first line that is wrong.
func (t Task) Check(r io.Reader) (found Lines, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		found.Count++
		length, err := t.checkLine(lines.Text())
		if err != nil {
			return found, fmt.Errorf("line %d: %w", found.Count, err)
		}
		found.Shortest, found.Longest = min(cmp.Or(found.Shortest, length), length), max(found.Longest, length)
	}
	if err := lines.Err(); err != nil {
		return found, fmt.Errorf("line %d: %w", found.Count+1, err)
	}
	if found.Count == 0 {
		return found, errors.New("it has no lines")
	}
	return found, nil
}

// checkLine checks a line and returns the length of its input.
func (t Task) checkLine(line string) (length int, err error) {
	words := strings.Fields(line)
	if len(words) != 3 {
		return 0, fmt.Errorf("%s, want 3: input, output, number that counts", wording.Count(len(words), "word"))
	}
	input, err := t.Parse(words[0])
	if err != nil {
		return 0, err
	}
	e, err := t.Answer(input)
	if err != nil {
		return 0, err
	}
	if want := t.OutputText(e.Output); words[1] != want {
		return 0, fmt.Errorf("the output to %s is %s, not %s", words[0], want, words[1])
	}
	if words[2] != strconv.Itoa(e.Scored) {
		return 0, fmt.Errorf("%d characters of %s count, not %s", e.Scored, words[1], words[2])
	}
	return len(input), nil
}
