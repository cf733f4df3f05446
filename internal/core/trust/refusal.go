package trust

import (
	"fmt"
	"slices"
	"strings"
)

// Reason is why a use is refused.
type Reason string

// Reasons.
const (
	NotAgreed  Reason = "it was not agreed to yet"
	NotListed  Reason = "the command is not listed under trust.commands"
	NotInside  Reason = "the file is not below a folder listed under trust.folders"
	NotRegular Reason = "it is not a regular file"
)

// Refusal is one use that is refused. Nothing was read, run or sent.
type Refusal struct {
	Use
	Why Reason `json:"why"`
}

func (r *Refusal) Error() string {
	text := fmt.Sprintf("refused to %s: %s", r.Use, r.Why)
	if r.Why == NotAgreed {
		return text + ": if you know this source, " + r.Command()
	}
	return text + ": " + r.Remedy()
}

// Command agrees to exactly this use.
func (u Use) Command() string {
	return fmt.Sprintf("patra source trust %s %s", quoteForShell(u.Ref.String()), quoteForShell(u.Host))
}

// Remedy returns what the person who runs this machine can write into patra.yaml.
func (r *Refusal) Remedy() string {
	_, name := r.Ref.Split()
	switch r.Why {
	case NotListed:
		return fmt.Sprintf("if you wrote that command yourself, add it to patra.yaml: trust: {commands: [%s]}", quoteForShell(name))
	case NotInside:
		return "put the secret below " + UsualFolder + ", or list the folder that holds your secrets in patra.yaml under trust.folders"
	case NotRegular:
		return "name the file itself, not a pipe, a device or a folder"
	}
	return r.Command()
}

// quoteForShell protects what a shell would take apart.
func quoteForShell(text string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./:@,+=", c)
	}
	if !strings.ContainsFunc(text, func(c rune) bool { return !plain(c) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Stopped ends something that would use what was not agreed to. It comes before
// anything is read or sent.
type Stopped struct {
	What    string    // source mine, or the name of a file
	Command string    // that agrees to all; empty: each refusal has its own
	Refused []Refusal // not empty
}

func (s *Stopped) Error() string {
	lines := []string{s.What + " is stopped: nothing was read, run or sent. It wants to"}
	for _, r := range s.Refused {
		line := "  - " + r.Use.String()
		if r.Why != NotAgreed {
			line += "; " + string(r.Why)
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, s.nextCommands()...), "\n")
}

// nextCommands returns what to type. What only patra.yaml can allow stands first:
// agreeing alone would not help.
func (s *Stopped) nextCommands() (out []string) {
	for i := range s.Refused {
		if r := &s.Refused[i]; r.Why != NotAgreed {
			out = append(out, "next: "+r.Remedy())
		}
	}
	const told = "next: if you know where it comes from and that is right, agree to it: "
	if s.Command != "" {
		return append(out, told+s.Command)
	}
	for _, r := range s.Refused {
		out = append(out, told+r.Command())
	}
	return out
}

// Uses returns what a person would have to agree to.
func (s *Stopped) Uses() (out []Use) {
	for _, r := range s.Refused {
		out = append(out, r.Use)
	}
	return out
}

// OnlyConsent reports that consent is all that is missing.
func (s *Stopped) OnlyConsent() bool {
	return !slices.ContainsFunc(s.Refused, func(r Refusal) bool { return r.Why != NotAgreed })
}

// Brief returns the refusal in one line, for lists of findings.
func (s *Stopped) Brief() string {
	var wants, next []string
	for i := range s.Refused {
		r := &s.Refused[i]
		wants = append(wants, r.Use.String())
		if r.Why != NotAgreed {
			next = append(next, r.Remedy())
		}
	}
	return s.What + " waits for consent to " + strings.Join(wants, ", and to ") + ": " + strings.Join(append(next, s.Command), "; then ")
}
