package pe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"torchpe/internal/wording"
)

// labelled matches an encoding with sigma, joined in any way: learn0.2, learn-02.
var labelled = regexp.MustCompile(`^(.*?)[-_ ]?([0-9][0-9.]*)$`)

// hint suggests what an unknown name may mean: the scheme with this other name, a scheme with
// sigma, or the most similar name.
func hint(name string) string {
	if same := meant(name); same != nil {
		return did(same)
	}
	if m := labelled.FindStringSubmatch(name); m != nil { // for example lern-0.1, which is lern and a sigma
		learned := slices.DeleteFunc(slices.Clone(registry), func(s Scheme) bool { return !s.Learned })
		all := meant(m[1])
		if near := wording.Nearest(m[1], namesOf(learned)); all == nil && near != "" {
			all = []string{near}
		}
		sigma := m[2]
		if len(sigma) > 1 && sigma[0] == '0' && !strings.Contains(sigma, ".") { // 02
			sigma = "0." + sigma[1:]
		}
		var labels []string
		for _, s := range learned {
			if slices.Contains(all, s.Name) {
				labels = append(labels, s.Name+"-"+sigma)
			}
		}
		if slices.Contains(labels, name) { // a part of another value, such as learn-0.1@1-4
			return fmt.Sprintf("; here it is %s without its sigma, which --sigma %s gives", m[1], sigma)
		}
		if labels != nil {
			return did(labels)
		}
	}
	if near := wording.Nearest(name, Names()); near != "" {
		return did([]string{near})
	}
	return "; `torchpe pe list` lists them, and + stacks them, as in rope+learn"
}

// meant lists the schemes whose name, or other name, equals name up to case and dashes.
func meant(name string) (schemes []string) {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	is := func(other string) bool {
		return name != "" && strings.EqualFold(plain.Replace(name), plain.Replace(other))
	}
	for _, s := range registry {
		if is(s.Name) {
			return []string{s.Name}
		}
		if slices.ContainsFunc(s.About().Also, is) {
			schemes = append(schemes, s.Name)
		}
	}
	return schemes
}

func did(names []string) string {
	return fmt.Sprintf(`; did you mean "%s"?`, strings.Join(names, `" or "`))
}
