package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// docs/settings.md and its schema are what the rows say; go test ./train/config -update writes them.
func TestPage(t *testing.T) {
	schema := expect.Must(json.MarshalIndent(schemaOfAll(), "", "  "))
	for name, want := range map[string]string{"settings.md": page(), "settings.schema.json": string(schema) + "\n"} {
		expect.GoldenFile(t, filepath.Join("..", "..", "docs", name), []byte(want))
	}
}

// page returns docs/settings.md, the table of all settings.
func page() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Generated from train/config by "go test ./train/config -update". Do not edit. -->

Each setting is a key of a run's config.json. Most have a flag of ` + "`torchpe train`" + `, which
` + "`torchpe sweep`" + ` takes, too; rows without one say what gives their value. Options of positional
encodings are in [encodings.md](encodings.md). ` + "`torchpe train --help all`" + ` explains flags that are no
settings, such as --preset, --lst, --seeds, --members, --config and --resume. settings.schema.json
beside this page is the JSON schema of config.json.

- **changes**: a sweep tells runs apart by all settings but those that change nothing, which may
  also differ when a run is resumed. Names of runs and comparisons leave out those that change
  measurements alone, too.
- **in a sweep**: an axis takes several values, each of which is trained; members of one ensemble
  may differ in those that say so.
`)
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n## %s%s\n\n| flag | key | default | changes | in a sweep | "+
			"|\n|---|---|---|---|---|---|\n", strings.ToUpper(g.Name[:1]), g.Name[1:])
		for _, s := range g.Settings {
			flag, standard, how := "", "", ""
			if s.Flag != "" {
				flag, standard, how = "`--"+s.Flag+"`", s.NewFlag().String(), s.Sweep.String()
				if s.IsMember() {
					how = "axis, per member"
				}
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n", flag, s.Key, standard, s.Effect,
				how, cell(s.Usage()))
		}
	}
	return b.String()
}

// String names the effect.
func (e Effect) String() string { return []string{"results", "measurements", "nothing"}[e] }

// String names the way in which a setting takes values.
func (s Sweep) String() string {
	return []string{"axis", "one value", "one list", "one list", "axis"}[s]
}

// cell writes text into a table of Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "*", "\\*", "<", "&lt;").Replace(text)
}

// schemaOfAll returns the JSON schema of config.json.
func schemaOfAll() map[string]any {
	root := object()
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", "config.json of a torchpe run"
	properties(root)["schema"] = map[string]any{"type": "integer", "description": "version of the run directory"}
	properties(root)["members"] = map[string]any{"type": "array", "minItems": 1, "items": object()}
	for _, s := range Settings() {
		at, names := root, strings.Split(s.Key, ".")
		for _, name := range names[:len(names)-1] {
			inner, _ := properties(at)[name].(map[string]any)
			if inner == nil {
				inner = object()
				properties(at)[name] = inner
			}
			if items, ok := inner["items"].(map[string]any); ok {
				inner = items
			}
			at = inner
		}
		name := names[len(names)-1]
		known, _ := properties(at)[name].(map[string]any)
		if known == nil {
			known = s.schema()
			properties(at)[name] = known
		}
		known["description"] = s.Usage()
	}
	return root
}

func object() map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
}

func properties(object map[string]any) map[string]any { return object["properties"].(map[string]any) }

// schema returns the JSON schema of the setting's value.
func (s Setting) schema() map[string]any {
	out := map[string]any{}
	list := func(items string) {
		out["type"], out["items"] = []string{"array", "null"}, map[string]any{"type": items}
	}
	switch s.kind.(type) {
	case int, uint64:
		out["type"] = "integer"
	case *int:
		out["type"] = []string{"integer", "null"}
	case float64:
		out["type"] = "number"
	case *float64:
		out["type"] = []string{"number", "null"}
	case bool:
		out["type"] = "boolean"
	case *bool:
		out["type"] = []string{"boolean", "null"}
	case string, Duration:
		out["type"] = "string"
	case []string:
		list("string")
	case []float64:
		list("number")
	case []int:
		list("integer")
	case *Surrogate:
		integer := map[string]any{"type": "integer"}
		out = object()
		out["properties"] = map[string]any{"subjects": integer, "frames": integer}
	}
	if s.OneOf != nil {
		out["enum"] = append(s.OneOf[:len(s.OneOf):len(s.OneOf)], "")
	}
	return out
}
