package trust

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Unlisted says what patra.yaml must list before anybody can agree to it, with the lines
// to write.
func Unlisted(refused []Refusal, file string) error {
	var wants []string
	lists := map[Reason][]string{}
	for _, r := range refused {
		wants = append(wants, "  - "+r.Use.String()+"; "+string(r.Why))
		entry := ""
		switch _, name := r.Ref.Split(); r.Why {
		case NotListed:
			entry = name
		case NotInside:
			entry = filepath.Dir(name)
		default:
			continue
		}
		if !slices.Contains(lists[r.Why], entry) {
			lists[r.Why] = append(lists[r.Why], entry)
		}
	}
	text := "patra.yaml must list this before it can be agreed to:\n" + strings.Join(wants, "\n")
	text += fmt.Sprintf("\nnext: if that is right, write these lines into %s, then run the same command again\ntrust:", file)
	for _, section := range []struct {
		why Reason
		key string
	}{{NotListed, "commands"}, {NotInside, "folders"}} {
		if entries := lists[section.why]; len(entries) > 0 {
			text += "\n  " + section.key + ":"
			for _, entry := range entries {
				text += "\n    - " + inYAML(entry)
			}
		}
	}
	return errors.New(text)
}

// inYAML returns a text on one line of YAML. A single quote is doubled inside of two
// others.
func inYAML(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
