package train

import (
	"fmt"
	"math/rand/v2"

	"torchpe/data/sequence"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// exampleSource makes the examples of a sequenceTask. length is the length of an input.
type exampleSource interface {
	name() string
	// alphabet returns the numbers of distinct tokens and of classes, and whether tokens must not
	// see later ones.
	alphabet() (symbols, classes int, causal bool)
	notes() []string
	// characters returns the characters of a text, in the order of their numbers, or "" for languages.
	characters() string
	tokens(length int) int
	// outputs returns the number of tokens, at the end, from which the output is read.
	outputs(length int) int
	positions(length int) pe.Positions
	// oneLength reports whether all steps have inputs of the longest training length. length
	// returns the length of a step.
	oneLength() bool
	length(seed uint64, step int) int
	draw(r *rand.Rand, length int) tokenExample
	// heldOut returns how many examples of a length can be held out, at most wanted. held returns
	// number i of n.
	heldOut(wanted, length int) int
	held(r *rand.Rand, i, n, length int) tokenExample
}

// tokenExample is an example in the form of the model's input.
type tokenExample struct {
	tokens, target []int64
	scored         int // number of targets that count, from the first
}

func newTextSource(c Config) (exampleSource, error) {
	text, err := sequence.ReadText(c.Sequence.Text)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	_, longer := c.Sequence.Lengths()
	longest := append([]int{c.Sequence.TrainLength}, longer...)
	if err := text.Check(c.Sequence.TrainLength+1, longest[len(longest)-1]+1); err != nil {
		return nil, err
	}
	about := text.About(c.Sequence.TrainLength+1, longest[len(longest)-1]+1)
	last, s := longest[len(longest)-1], c.Sequence
	if last != s.TestLength && s.TestLength > s.TrainLength {
		about = append(about, fmt.Sprintf("the longest windows that are measured have %d characters: --test-length %d "+
			"is no doubling of --train-length %d", last, s.TestLength, s.TrainLength))
	}
	return &textSource{text, c.Sequence.TrainLength, about}, nil
}

func newLanguageSource(c Config) (exampleSource, error) {
	task, err := sequence.Find(c.Sequence.Name)
	if err != nil {
		return nil, err
	}
	return &languageSource{task, c.Sequence.TrainLength, c.Sequence.Form == config.Decoder}, nil
}

// languageSource gives the tokens of an input, followed by one token for each symbol of the output.
// For encoders these are empty (Ruoss et al. 2023, "encoder-only"). For decoders they are an empty
// token, which ends the input, and the output without its last symbol.
type languageSource struct {
	task    sequence.Task
	longest int // in training
	decoder bool
}

func (l *languageSource) name() string {
	if l.decoder {
		return l.task.Name + ", decoder"
	}
	return l.task.Name
}

func (l *languageSource) alphabet() (symbols, classes int, causal bool) {
	symbols, classes = len(l.task.Symbols)+1, len(l.task.Classes)
	if l.decoder {
		symbols += classes
	}
	return symbols, classes, l.decoder
}

func (l *languageSource) characters() string { return "" }

func (l *languageSource) notes() []string { return nil }

func (l *languageSource) tokens(length int) int {
	return l.task.InputLen(length) + l.task.OutputLen(length)
}

func (l *languageSource) outputs(length int) int { return l.task.OutputLen(length) }

func (l *languageSource) positions(length int) pe.Positions {
	line := pe.Line(l.tokens(length))
	places, ok := l.task.DigitPlaces(length)
	if !ok {
		return line
	}
	if l.decoder { // the token from which a digit is read holds the digit before it
		n := l.task.InputLen(length)
		copy(places[n+1:], places[n:])
		places[n] = 0
	}
	line.Runs = places
	return line
}

func (l *languageSource) oneLength() bool { return false }

// length draws a training length uniformly.
func (l *languageSource) length(seed uint64, step int) int {
	return 1 + torchpe.Stream(seed, fmt.Sprintf("length %d", step)).IntN(l.longest)
}

func (l *languageSource) draw(r *rand.Rand, length int) tokenExample {
	e, empty := l.task.Draw(r, length), int64(len(l.task.Symbols))
	out := tokenExample{scored: e.Scored}
	for _, symbol := range e.Input {
		out.tokens = append(out.tokens, int64(symbol))
	}
	for k, class := range e.Output {
		token := empty
		if l.decoder && k > 0 {
			token = empty + 1 + int64(e.Output[k-1])
		}
		out.tokens, out.target = append(out.tokens, token), append(out.target, int64(class))
	}
	return out
}

func (l *languageSource) heldOut(wanted, _ int) int { return wanted }

func (l *languageSource) held(r *rand.Rand, _, _, length int) tokenExample { return l.draw(r, length) }

// textSource has windows of a text; each token predicts the next character.
type textSource struct {
	text    *sequence.Text
	trained int
	about   []string
}

func (t *textSource) notes() []string { return t.about }

func (t *textSource) name() string { return "text " + t.text.SHA256 }

func (t *textSource) alphabet() (symbols, classes int, causal bool) {
	n := len(t.text.Characters)
	return n, n, true
}

func (t *textSource) characters() string { return string(t.text.Characters) }

func (t *textSource) tokens(length int) int { return length }

func (t *textSource) outputs(length int) int { return length }

func (t *textSource) positions(length int) pe.Positions { return pe.Line(length) }

func (t *textSource) oneLength() bool { return true }

func (t *textSource) length(uint64, int) int { return t.trained }

func (t *textSource) draw(r *rand.Rand, length int) tokenExample {
	return windowExample(t.text.Draw(r, length+1))
}

func (t *textSource) heldOut(wanted, length int) int { return min(wanted, t.text.HeldOut(length+1)) }

func (t *textSource) held(_ *rand.Rand, i, n, length int) tokenExample {
	return windowExample(t.text.Held(i, n, length+1))
}

// windowExample returns all characters of a window except the last, and as target all except the first.
func windowExample(window []uint16) (e tokenExample) {
	for i := range window[1:] {
		e.tokens, e.target = append(e.tokens, int64(window[i])), append(e.target, int64(window[i+1]))
	}
	e.scored = len(e.target)
	return e
}
