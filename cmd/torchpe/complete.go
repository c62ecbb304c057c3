package main

import (
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/data/sequence"
	"torchpe/models/pe"
	"torchpe/report/analysis"
	"torchpe/train/config"
)

// completeValues lets shells complete the flag values and arguments of a command and of its subcommands.
func completeValues(cmd *cobra.Command) {
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if values := valuesOf(flag); values != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, // fails only for unknown flags
				func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
					return completions(values(), begun), cobra.ShellCompDirectiveNoFileComp
				})
		}
	})
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = argumentCompletion(cmd.Use)
	}
	for _, c := range cmd.Commands() {
		completeValues(c)
	}
}

// valuesOf returns a function that lists the values of a flag, or nil if there are too many.
func valuesOf(flag *pflag.Flag) func() []string {
	setting, _ := config.ByFlag(flag.Name)
	value := flag.Value
	if a, ok := value.(*axisFlag); ok {
		value = a.train.Value
	}
	if o, ok := value.(*once); ok {
		value = o.Value
	}
	few, isFew := value.(choice)
	switch {
	case isFew:
		return func() []string { return few.of }
	case flag.Name == "method": // of analyze map
		return func() []string { return analysis.MapMethods }
	case flag.Name == "pe":
		return schemeNames
	case flag.Name == config.InitFlag:
		return func() []string { return strings.Split(pe.InitForms, ", ") }
	case setting.Choices() != nil:
		return setting.Choices
	}
	return optionChoices()[flag.Name]
}

// optionChoices returns a function for each option of an encoding with few values, which lists them.
var optionChoices = sync.OnceValue(func() map[string]func() []string {
	choices := map[string]func() []string{}
	for _, s := range pe.Schemes() {
		for _, o := range s.Options {
			if o.Choices() != nil {
				choices[o.Name] = o.Choices
			}
		}
	}
	return choices
})

func schemeNames() (names []string) {
	for _, s := range pe.Schemes() {
		names = append(names, s.Name+"\t"+s.About().Summary)
	}
	return names
}

// completions returns the values that start with the prefix, or with the last part of a list or stack.
func completions(values []string, prefix string) (out []string) {
	head := prefix[:strings.LastIndexAny(prefix, ",+")+1]
	for _, v := range values {
		if strings.HasPrefix(head+v, prefix) {
			out = append(out, head+v)
		}
	}
	return out
}

// argumentCompletion completes the first argument in a usage line, and all of them if it repeats; nil completes
// files.
func argumentCompletion(use string) cobra.CompletionFunc {
	_, argument, _ := strings.Cut(use, " ")
	argument, _, _ = strings.Cut(argument, " ")
	argument = strings.Trim(argument, "[]")
	var names func() []string
	switch name, _, _ := strings.Cut(strings.TrimSuffix(argument, "..."), "|"); name {
	case "SCHEME":
		names = schemeNames
	case "TASK":
		names = func() []string { return sequence.Names(sequence.All()) }
	case "RUN", "DIR":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	default:
		return nil
	}
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.HasSuffix(argument, "...") { // the next is a file
			return nil, cobra.ShellCompDirectiveDefault
		}
		return completions(names(), begun), cobra.ShellCompDirectiveNoFileComp
	}
}
