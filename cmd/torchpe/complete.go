package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/data/sequence"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
	"torchpe/train/config"
)

// completeValues makes shells complete the values of flags and the arguments of a command and of
// those below it.
func completeValues(cmd *cobra.Command) {
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		values := valuesOf(flag.Name)
		if own := ownValues[cmd.CommandPath()+" --"+flag.Name]; own != nil {
			values = func() []string { return own }
		}
		if values != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, // fails for unknown flags alone
				func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
					return completions(values(), begun), cobra.ShellCompDirectiveNoFileComp
				})
		}
	})
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = argumentsOf(cmd.Use)
	}
	for _, c := range cmd.Commands() {
		completeValues(c)
	}
}

// ownValues are those of flags that are no settings.
var ownValues = map[string][]string{
	"torchpe pe values --what":        catalogue.Kinds(),
	"torchpe pe check --what":         catalogue.GivenNames()[4:],
	"torchpe data positions --method": {pe.GradientsInit, pe.MDSInit},
	"torchpe analyze map --method":    mapMethods,
	"torchpe sweep --launcher":        launchers,
	"torchpe sweep resume --launcher": launchers,
	"torchpe sweep retry --launcher":  launchers,
}

// valuesOf returns what lists the values of a flag, nil where they are too many.
func valuesOf(flag string) func() []string {
	setting, _ := config.ByFlag(flag)
	switch {
	case flag == "preset":
		return config.Presets
	case flag == "pe":
		return schemeNames
	case flag == config.InitFlag:
		return func() []string { return strings.Split(pe.InitForms, ", ") }
	case setting.Choices() != nil:
		return setting.Choices
	}
	for _, s := range pe.Schemes() {
		for _, o := range s.Options {
			if o.Name == flag && o.Choices() != nil {
				return o.Choices
			}
		}
	}
	return nil
}

// schemeNames lists the encodings with what they are.
func schemeNames() (names []string) {
	for _, s := range pe.Schemes() {
		names = append(names, s.Name+"\t"+s.Summary)
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

// argumentsOf returns what completes the arguments that a usage line names.
func argumentsOf(use string) cobra.CompletionFunc {
	words := strings.FieldsFunc(use, func(r rune) bool { return strings.ContainsRune(" .[]|", r) })
	first := func(names func() []string) cobra.CompletionFunc {
		return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 && strings.Count(use, "SCHEME") < 2 { // the next is a file
				return nil, cobra.ShellCompDirectiveDefault
			}
			return completions(names(), begun), cobra.ShellCompDirectiveNoFileComp
		}
	}
	switch {
	case slices.Contains(words, "SCHEME"):
		return first(schemeNames)
	case slices.Contains(words, "TASK"):
		return first(func() []string { return sequence.Names(sequence.All()) })
	case slices.Contains(words, "RUN"), slices.Contains(words, "DIR") && !strings.Contains(use, "--out DIR"):
		return completeRuns
	}
	return nil // files
}

// completeRuns completes directories of runs: those that begin as what is typed, and below runs where
// nothing is.
func completeRuns(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	patterns := []string{begun + "*"}
	if begun == "" {
		patterns = append(patterns, "runs/*", "sweeps/*")
	}
	var found []string
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern) // an error is of a pattern: nothing is found
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil || !info.IsDir() || begun == "" && path[0] == '.' {
				continue
			}
			about := "folder"
			for file, what := range map[string]string{"config.json": "run", "sweep.json": "sweep"} {
				if _, err := os.Stat(filepath.Join(path, file)); err == nil {
					about = what
				}
			}
			found = append(found, path+"\t"+about)
		}
	}
	if found == nil {
		return nil, cobra.ShellCompDirectiveFilterDirs // deeper ones
	}
	return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
