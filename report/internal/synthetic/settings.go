package synthetic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/train/config"
)

// EverySetting calls try for each setting with two models that differ only in it and in their seeds. isTold
// reports whether the setting changes results, and so distinguishes models.
func EverySetting(t *testing.T, try func(key string, models []cohort.Model, isTold bool)) {
	t.Helper()
	keys := 0
	for _, s := range config.Settings() {
		if s.Key == "members" {
			continue // its parts have rows
		}
		keys++
		models := []cohort.Model{modelWith(t, s.Key, "1"), modelWith(t, s.Key, "2")}
		models[1].Member.Seed++
		try(s.Key, models, s.Effect == config.Results && s.Key != "members.seed")
	}
	if keys < 60 {
		t.Errorf("the table has %d settings, want at least 60", keys)
	}
	for _, key := range []string{"members.lr", "members.pe_lr", "members.pe_weight_decay", "members.sigma",
		"members.weight_decay", "removed.of_an_older_version"} {
		try(key, []cohort.Model{modelWith(t, key, "1"), modelWith(t, key, "2")}, true)
	}
}

// modelWith returns a model whose configuration has a value at a key.
func modelWith(t *testing.T, key, value string) cohort.Model {
	t.Helper()
	m := cohort.Model{Run: &cohort.Run{}}
	text := value
	parts := strings.Split(key, ".")
	for i := len(parts) - 1; i >= 0; i-- {
		text = fmt.Sprintf(`{%q:%s}`, parts[i], text)
	}
	m.Run.Config.JSON = json.RawMessage(text)
	if parts[0] == "members" {
		m.Run.Config.JSON = json.RawMessage("{}")
		expect.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{%q:%s}`, parts[1], value), &m.Member))
	}
	return m
}
