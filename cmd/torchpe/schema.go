package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/train/config"
	"torchpe/train/runlog"
	"torchpe/train/sweep"
)

// schemas are the JSON schemas of the files of runs and sweeps, by name.
var schemas = map[string]func() (*jsonschema.Schema, error){
	"config":      configSchema,
	"environment": schemaOf[runlog.Environment],
	"record": func() (*jsonschema.Schema, error) {
		return measured(runlog.Record{}, runlog.Record{MaskedMeasures: &runlog.MaskedMeasures{}})
	},
	"result": resultSchema,
	"sweep":  sweepSchema,
}

func newSchemaCommand() *cobra.Command {
	names := slices.Sorted(maps.Keys(schemas))
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print the JSON schema of a file of a run",
		Long: `Print the JSON schema (draft 2020-12) of a file as this version writes it:

  config       config.json, the resolved configuration of a run
  environment  environment.json, by what a run was computed
  record       a line of metrics.jsonl
  result       result.json, the final numbers
  sweep        sweep.json, the plan of a sweep`,
		Example:   "  torchpe schema result",
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || schemas[args[0]] == nil {
				return usagef("%s: want one of %s%s", cmd.CommandPath(), strings.Join(names, ", "),
					wording.Hint(strings.Join(args, " "), names))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := schemas[args[0]]()
			if err != nil {
				return err
			}
			s.Schema = "https://json-schema.org/draft/2020-12/schema"
			return printJSON(cmd.OutOrStdout(), s)
		},
	}
}

// schemaOf returns the schema of a type, in which numbers that are not finite are null.
func schemaOf[T any]() (*jsonschema.Schema, error) {
	return jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[float64]():         {Types: []string{"null", "number"}},
		reflect.TypeFor[json.RawMessage](): {},
	}})
}

// measured returns the schema of a type whose JSON has the keys that both examples have: of puzzles
// and of masked prediction.
func measured[T any](puzzles, masked T) (*jsonschema.Schema, error) {
	s, err := schemaOf[T]()
	if err != nil {
		return nil, err
	}
	var keys [2]map[string]any
	for i, example := range []T{puzzles, masked} {
		text, err := json.Marshal(example)
		if err == nil {
			err = json.Unmarshal(text, &keys[i])
		}
		if err != nil {
			return nil, err
		}
	}
	s.Required = nil
	for _, key := range slices.Sorted(maps.Keys(keys[0])) {
		if _, both := keys[1][key]; both {
			s.Required = append(s.Required, key)
		}
	}
	return s, nil
}

// configSchema returns the schema that follows from the table of settings.
func configSchema() (*jsonschema.Schema, error) {
	text, err := config.Schema()
	if err != nil {
		return nil, err
	}
	s := new(jsonschema.Schema)
	return s, json.Unmarshal(text, s)
}

func resultSchema() (*jsonschema.Schema, error) {
	s, err := schemaOf[runlog.Result]()
	if err != nil {
		return nil, err
	}
	s.Properties["members"].Items, err = measured(runlog.MemberResult{},
		runlog.MemberResult{MaskedMeasures: &runlog.MaskedMeasures{}})
	return s, err
}

func sweepSchema() (*jsonschema.Schema, error) {
	s, err := schemaOf[sweep.Plan]()
	if err != nil {
		return nil, err
	}
	c, err := configSchema()
	if err != nil {
		return nil, err
	}
	s.Properties["tasks"].Items.Properties["members"].Items = c.Properties["members"].Items
	c.Properties["members"] = &jsonschema.Schema{Type: "array", MaxItems: jsonschema.Ptr(0)}
	c.Schema, c.Title = "", "a configuration without its members"
	s.Properties["configurations"].Items = c
	return s, nil
}
