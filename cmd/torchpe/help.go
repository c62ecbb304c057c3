package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/internal/wording"
	"torchpe/report/table"
)

// helpGroup is the annotation of a flag that names its heading in the help.
const helpGroup = "torchpe_group"

// encodingOptions is the heading of flags that are options of encodings, which pe show lists.
const encodingOptions = "options of encodings"

// headFlags puts the flags without a heading under one.
func headFlags(fl *pflag.FlagSet, heading string) {
	fl.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations[helpGroup] == nil {
			_ = fl.SetAnnotation(flag.Name, helpGroup, []string{heading}) // fails only for unknown flags
		}
	})
}

// commonFlags is the annotation of a command with the names of its usual flags.
const commonFlags = "torchpe_usual"

// setCommonFlags makes a command's help show only these flags, in this order; `--help all` lists the rest below
// them.
func setCommonFlags(cmd *cobra.Command, names ...string) {
	cmd.Annotations = map[string]string{commonFlags: strings.Join(names, " ")}
}

// plainWidth is the width of help in columns without a terminal.
const plainWidth = 100

func helpWidth() int {
	if width := table.Width(os.Stdout); width > 0 {
		return width
	}
	return plainWidth
}

// printHelp prints the help of a command, as wide as the terminal.
func printHelp(cmd *cobra.Command, args []string) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s\n\n", wrapped(cmp.Or(cmd.Long, cmd.Short), helpWidth()))
	printUsage(out, cmd, slices.Contains(args, "all"))
}

// printUsage prints how a command is called, its commands, examples and flags, the common ones first. If the
// command names none, these are the flags without a heading.
func printUsage(out io.Writer, cmd *cobra.Command, all bool) {
	width := helpWidth()
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
				fmt.Fprintln(out, hanging(fmt.Sprintf("  %-*s ", c.NamePadding(), c.Name()), c.Short, width))
			}
		}
	}
	usual, rest, hasOptions := splitFlags(cmd)
	fmt.Fprintf(out, "\nFlags:\n%s", usages(usual, width))
	switch {
	case all:
		fmt.Fprint(out, groupedUsages(rest, width))
	case rest != nil:
		fmt.Fprintf(out, "\n%s --help all lists all flags.\n", cmd.CommandPath())
	}
	if hasOptions {
		const note = "The options of encodings are flags too: torchpe pe show rope lists those of rope."
		fmt.Fprintf(out, "\n%s\n", wrapped(note, width))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\n%s\n", wrapped(cmd.CommandPath()+" [command] --help describes a command.", width))
	}
}

// wrapped rewraps the paragraphs of a text to a width.
func wrapped(text string, width int) string {
	if !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return len(l) > width }) {
		return text
	}
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		out = append(out, wrappedParagraph(paragraph, width))
	}
	return strings.Join(out, "\n\n")
}

// itemLine splits an indented line into what precedes its text, and the text.
var itemLine = regexp.MustCompile(`^( +(?:.* {2,})?)(\S.*)$`)

// wrappedParagraph rewraps a paragraph. Each indented line begins an item. Lines indented as far as the item's
// text continue it.
func wrappedParagraph(text string, width int) string {
	var out []string
	head, body := "", ""
	end := func() {
		if body != "" {
			out = append(out, hanging(head, body, width))
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		m := itemLine.FindStringSubmatch(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case body != "" && indent == utf8.RuneCountInString(head) && (head == "" || strings.TrimSpace(head) != ""):
			body += " " + strings.TrimLeft(line, " ")
		case m == nil:
			end()
			head, body = "", line
		default:
			end()
			head, body = m[1], m[2]
		}
	}
	end()
	return strings.Join(out, "\n")
}

// hanging wraps a text after its head and indents further lines below the first.
func hanging(head, text string, width int) string {
	indent := utf8.RuneCountInString(head)
	return head + strings.Join(table.Wrap(text, width-indent), "\n"+strings.Repeat(" ", indent))
}

// splitFlags returns the common flags of a command in their order, all other flags except options of encodings,
// and whether it has such options.
func splitFlags(cmd *cobra.Command) (usual, rest []*pflag.Flag, hasOptions bool) {
	names := strings.Fields(cmd.Annotations[commonFlags])
	for _, name := range names {
		if flag := cmd.LocalFlags().Lookup(name); flag != nil { // bench has no --seeds
			usual = append(usual, flag)
		}
	}
	var help []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		switch {
		case flag.Hidden || slices.Contains(names, flag.Name):
		case flag.Name == "help":
			help = []*pflag.Flag{flag}
		case flag.Annotations[helpGroup] == nil:
			usual = append(usual, flag)
		case flag.Annotations[helpGroup][0] == encodingOptions:
			hasOptions = true
		default:
			rest = append(rest, flag)
		}
	})
	return append(usual, help...), rest, hasOptions
}

func groupedUsages(flags []*pflag.Flag, width int) string {
	var headings []string
	groups := map[string][]*pflag.Flag{}
	for _, flag := range flags {
		heading := strings.Join(flag.Annotations[helpGroup], "")
		if groups[heading] == nil {
			headings = append(headings, heading)
		}
		groups[heading] = append(groups[heading], flag)
	}
	var b strings.Builder
	for _, heading := range headings {
		fmt.Fprintf(&b, "\n %s:\n%s", wording.Capital(heading), usages(groups[heading], width))
	}
	return b.String()
}

func usages(flags []*pflag.Flag, width int) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	shown.SortFlags = false
	for _, flag := range flags {
		f := *flag
		f.Value, f.DefValue = worded{f.Value}, strings.Trim(f.DefValue, "[]")
		if f.DefValue == "0s" {
			f.DefValue = ""
		}
		if f.Value.Type() != "bool" {
			f.NoOptDefVal = ""
		}
		shown.AddFlag(&f)
	}
	return shown.FlagUsagesWrapped(width)
}

// worded is a flag's value whose type is shown as a word.
type worded struct{ pflag.Value }

// Type returns the word. The types of axes, which take several values, end with commas.
func (w worded) Type() string {
	if word, ok := typeWords[w.Value.Type()]; ok {
		return word
	}
	return w.Value.Type()
}

// typeWords are the words for types of values.
var typeWords = map[string]string{
	"string": "text", "string,...": "texts", "strings": "texts", "stringArray": "text", "stringSlice": "texts",
	"float64": "number", "float64,...": "numbers", "float64Slice": "numbers", "float,...": "numbers",
	"int": "number", "uint64": "number", "int,...": "numbers", "uint64,...": "numbers", "intSlice": "numbers",
	"int|auto": "number|auto", "bool,...": "true|false",
	"duration,...": "durations",
}
