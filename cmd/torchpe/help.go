package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/report/table"
)

// helpGroup is the annotation of a flag that names its heading in the help.
const helpGroup = "torchpe_group"

// headFlags puts the flags that have no heading yet below one.
func headFlags(fl *pflag.FlagSet, heading string) {
	fl.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations[helpGroup] == nil {
			_ = fl.SetAnnotation(flag.Name, helpGroup, []string{heading}) // fails for unknown flags alone
		}
	})
}

// usualFlags is the annotation of a command with the names of its usual flags.
const usualFlags = "torchpe_usual"

// setUsual makes a command's help show these flags alone, in their order; `--help all` has the rest
// below them.
func setUsual(cmd *cobra.Command, names ...string) {
	cmd.Annotations = map[string]string{usualFlags: strings.Join(names, " ")}
}

// printHelp prints the help of a command, as wide as the terminal.
func printHelp(cmd *cobra.Command, args []string) {
	text, out := cmd.Long, cmd.OutOrStdout()
	if text == "" {
		text = cmd.Short
	}
	fmt.Fprintf(out, "%s\n\n", wrapped(text, table.Width(os.Stdout)))
	printUsage(out, cmd, slices.Contains(args, "all"))
}

// printUsage prints how a command is called, its commands, examples and flags: those without a
// heading first.
func printUsage(out io.Writer, cmd *cobra.Command, all bool) {
	width := table.Width(os.Stdout)
	fmt.Fprint(out, "Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(out, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(out, "\nAvailable Commands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(out, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	usual := strings.Fields(cmd.Annotations[usualFlags])
	fmt.Fprintf(out, "\nFlags:\n%s", usualUsages(cmd.LocalFlags(), usual, width))
	switch {
	case all || len(usual) == 0:
		fmt.Fprint(out, groupedUsages(cmd.LocalFlags(), usual, width))
	default:
		fmt.Fprintf(out, "\n%s --help all lists all flags.\n", cmd.CommandPath())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\n%s [command] --help says more of a command.\n", cmd.CommandPath())
	}
}

// wrapped breaks the paragraphs of a text anew at a width, 0 for none. Indented lines stay.
func wrapped(text string, width int) string {
	if width == 0 || !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return len(l) > width }) {
		return text
	}
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.Contains(paragraph, "\n ") && !strings.HasPrefix(paragraph, " ") {
			paragraph = strings.Join(table.Wrap(paragraph, width), "\n")
		}
		out = append(out, paragraph)
	}
	return strings.Join(out, "\n\n")
}

// usualUsages lists the usual flags, in their order, and the help flag.
func usualUsages(fl *pflag.FlagSet, usual []string, width int) string {
	if len(usual) == 0 {
		return ""
	}
	some := newFlagSet()
	for _, name := range append(slices.Clone(usual), "help") {
		if flag := fl.Lookup(name); flag != nil {
			some.AddFlag(inWords(flag))
		}
	}
	return some.FlagUsagesWrapped(width)
}

// groupedUsages lists flags below their headings, but for the usual ones.
func groupedUsages(fl *pflag.FlagSet, usual []string, width int) string {
	var headings []string
	groups := map[string]*pflag.FlagSet{}
	fl.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(usual, flag.Name) || len(usual) > 0 && flag.Name == "help" {
			return
		}
		heading := strings.Join(flag.Annotations[helpGroup], "")
		if groups[heading] == nil {
			groups[heading] = newFlagSet()
			if heading != "" {
				headings = append(headings, heading)
			}
		}
		groups[heading].AddFlag(inWords(flag))
	})
	var b strings.Builder
	if own := groups[""]; own != nil {
		b.WriteString(own.FlagUsagesWrapped(width))
	}
	for _, heading := range headings {
		fmt.Fprintf(&b, "\n %s%s:\n%s", strings.ToUpper(heading[:1]), heading[1:],
			groups[heading].FlagUsagesWrapped(width))
	}
	return b.String()
}

func newFlagSet() *pflag.FlagSet {
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	fl.SortFlags = false
	return fl
}

// typeWords are the kinds of values in words.
var typeWords = map[string]string{
	"string": "text", "float64": "number", "float64Slice": "numbers", "int": "count", "int|auto": "count|auto",
	"uint64": "count", "uint": "count", "intSlice": "counts", "strings": "texts", "stringSlice": "texts",
	"stringArray": "text",
}

// wordedValue is the value of a flag whose kind has a word.
type wordedValue struct {
	pflag.Value
	word string
}

func (v wordedValue) Type() string { return v.word }

// inWords returns a flag for the help, with the kind of its value in words.
func inWords(flag *pflag.Flag) *pflag.Flag {
	word, ok := typeWords[flag.Value.Type()]
	if !ok {
		return flag
	}
	shown := *flag
	shown.Value = wordedValue{flag.Value, word}
	shown.DefValue = strings.Trim(shown.DefValue, "[]")
	return &shown
}
