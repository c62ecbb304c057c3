package sequence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"torchpe/data/array"
	"torchpe/internal/wording"
)

// Limits on the size of a text in bytes and on its number of different characters.
const (
	maxText       = 1 << 30
	maxCharacters = 4096
)

// heldOut is the share of a text held out at its end.
const heldOut = 0.1

// Text holds texts as indices of their characters. The last tenth of each file is held out.
type Text struct {
	Characters []rune // sorted by code point
	SHA256     string // hash of all bytes

	train, held []piece // one per file
}

// piece is a part of a file.
type piece []uint16

// ReadText reads UTF-8 files, without a byte order mark, and with LF for CRLF. It returns an error for a file that is
// not UTF-8 and for texts outside the limits.
func ReadText(paths []string) (*Text, error) {
	if len(paths) == 0 {
		return nil, errors.New("no text: give a file")
	}
	t, hash, total := &Text{}, sha256.New(), int64(0)
	var files [][]rune
	seen, twice := map[rune]bool{}, map[[sha256.Size]byte]string{}
	for _, path := range paths {
		raw, err := array.InFile("text", path, func(f *array.File) ([]byte, error) {
			if total += f.Size(); total > maxText {
				return nil, fmt.Errorf("more than %d bytes of text; give a part of it", maxText)
			}
			return io.ReadAll(f)
		})
		if err != nil {
			return nil, err
		}
		hash.Write(raw)
		sum := sha256.Sum256(raw)
		if other := twice[sum]; other != "" {
			return nil, fmt.Errorf("%s: the same text as %s: it would count twice", path, other)
		}
		twice[sum] = path
		plain := bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) // the byte order mark
		text := bytes.Runes(bytes.ReplaceAll(plain, []byte("\r\n"), []byte("\n")))
		if !utf8.Valid(raw) {
			at, _ := array.NotUTF8(string(raw))
			return nil, fmt.Errorf("%s: byte %d (0x%02x) is not UTF-8; convert the file, as with iconv -t utf-8",
				path, at, raw[at])
		}
		for _, c := range text {
			seen[c] = true
		}
		files = append(files, text)
	}
	for c := range seen {
		t.Characters = append(t.Characters, c)
	}
	slices.Sort(t.Characters)
	if n := len(t.Characters); n < 2 || n > maxCharacters {
		return nil, fmt.Errorf("%s: %d different characters: a text to learn from has 2 to %d",
			strings.Join(paths, ", "), n, maxCharacters)
	}
	number := map[rune]uint16{}
	for i, c := range t.Characters {
		number[c] = uint16(i)
	}
	for _, file := range files {
		all := make(piece, len(file))
		for i, c := range file {
			all[i] = number[c]
		}
		from := len(all) - int(heldOut*float64(len(all)))
		t.train, t.held = append(t.train, all[:from]), append(t.held, all[from:])
	}
	t.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return t, nil
}

// Check returns an error if no file has window characters to train on, or longest held-out characters.
func (t *Text) Check(window, longest int) error {
	for _, part := range []struct {
		pieces []piece
		n      int
		what   string
		flag   string
	}{
		{t.train, window, "to train on", "--train-length"},
		{t.held, longest, "held out, the last tenth of each file", "--test-length"},
	} {
		if places(part.pieces, part.n) == 0 {
			longestPiece := 0
			for _, p := range part.pieces {
				longestPiece = max(longestPiece, len(p))
			}
			return fmt.Errorf("--data: at most %d characters of a file are %s, and windows need %d: "+
				"give more text or a smaller %s", longestPiece, part.what, part.n, part.flag)
		}
	}
	return nil
}

// About describes the unused parts of the texts, with windows of n characters in training and of at
// most longest held out.
func (t *Text) About(n, longest int) (notes []string) {
	for _, part := range []struct {
		pieces []piece
		n      int
		used   string
	}{{t.train, n, "trained on"}, {t.held, longest, "measured in the longest windows"}} {
		files, short := 0, 0
		for _, p := range part.pieces {
			if len(p) < part.n {
				files, short = files+1, short+len(p)
			}
		}
		if files > 0 {
			notes = append(notes, fmt.Sprintf("text: %d of %s, with %d characters there, are shorter than a window of "+
				"%d and not %s: join short texts into files", files, wording.Count(len(part.pieces), "file"), short,
				part.n, part.used))
		}
	}
	trained, unknown := make([]bool, len(t.Characters)), make([]int, len(t.Characters))
	for _, p := range t.train {
		for _, c := range p {
			trained[c] = trained[c] || len(p) >= n
		}
	}
	for _, p := range t.held {
		for _, c := range p {
			if !trained[c] {
				unknown[c]++
			}
		}
	}
	var all []string
	for c, n := range unknown {
		if n > 0 {
			all = append(all, fmt.Sprintf("%q in %s", t.Characters[c], wording.Count(n, "place")))
		}
	}
	if found, passages := t.shared(); found > 0 {
		notes = append(notes, fmt.Sprintf("text: %d of %s of %d held-out characters are in the text to train on, too, "+
			"so a model may know them by heart: give a text once", found, wording.Count(passages, "passage"), passage))
	}
	if all != nil {
		notes = append(notes, "text: the held-out part has characters that training never meets: "+wording.List(8, all))
	}
	return notes
}

// places counts the windows of n characters.
func places(pieces []piece, n int) (total int) {
	for _, p := range pieces {
		total += max(0, len(p)-n+1)
	}
	return total
}

// window returns the i-th window of n characters.
func window(pieces []piece, i, n int) piece {
	for _, p := range pieces {
		if here := max(0, len(p)-n+1); i >= here {
			i -= here
			continue
		}
		return p[i : i+n]
	}
	return nil
}

// Draw returns a window of n training characters, drawn uniformly.
func (t *Text) Draw(r *rand.Rand, n int) []uint16 {
	return window(t.train, r.IntN(places(t.train, n)), n)
}

// HeldOut returns the number of different windows of n held-out characters.
func (t *Text) HeldOut(n int) int { return places(t.held, n) }

// Held returns the i-th of count evenly spaced windows of n held-out characters.
func (t *Text) Held(i, count, n int) []uint16 {
	return window(t.held, i*places(t.held, n)/count, n)
}
