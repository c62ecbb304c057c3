package runlog

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the largest length of a name in bytes. File systems allow 255; sweeps add to names.
const maxName = 128

// ValidateName reports why name cannot be the name of a run or a sweep: a path element with the
// same meaning in every shell, file system and script.
func ValidateName(name string) error {
	if problem := nameProblem(name); problem != "" {
		return fmt.Errorf("name %s: %s; use letters, digits, '.', '_', '=' and '-'",
			quoteName(name), problem)
	}
	return nil
}

// nameProblem says what is wrong with a name, or nothing.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case name == "." || name == "..":
		return "means a directory that is there already"
	case len(name) > maxName:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(name), maxName)
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case name[0] == '-':
		return "begins with '-', like an option"
	case strings.HasSuffix(name, " ") || strings.HasSuffix(name, ".") || name[0] == ' ':
		return "begins with a space, or ends with a space or a dot"
	case isDeviceName(name):
		return "is the name of a device on Windows"
	}
	for _, c := range name {
		switch {
		case c == '/' || c == '\\':
			return fmt.Sprintf("contains the path separator %q", c)
		case unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp):
			return fmt.Sprintf("contains the invisible character %U", c)
		case unicode.Is(unicode.Mn, c):
			// é as one character and as two look alike and are two names.
			return fmt.Sprintf("contains the combining character %U: use the composed letter", c)
		}
	}
	return ""
}

// isDeviceName reports whether name is a device on Windows and its file servers.
func isDeviceName(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (base[:3] == "com" || base[:3] == "lpt") && base[3] >= '1' && base[3] <= '9'
}

// quoteName quotes a name for a message, shortened.
func quoteName(name string) string {
	const most = 60
	if len(name) > most {
		return fmt.Sprintf("%+q...", name[:most])
	}
	return fmt.Sprintf("%+q", name)
}
