package doctest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
)

// command is a command line of a page, without the name of the program.
type command struct {
	where string
	args  []string
	named bool // only mentioned in a sentence, so its arguments may be left out
}

func (c command) String() string { return c.where + ": patra " + strings.Join(c.args, " ") }

var (
	program = regexp.MustCompile(`^(?:\$ )?(?:\w+=\S+ )*(?:go run \./cmd/patra|(?:\./)?(?:bin/)?patra)(?: |$)`)
	quoted  = regexp.MustCompile("`(patra [^`]+)`")
	word    = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
)

// commands finds command lines in code blocks, and in code quotes elsewhere.
func commands(p page) (out []command) {
	add := func(l line, text string) {
		text, _, _ = strings.Cut(text, " #")
		text = strings.TrimSpace(text)
		found := program.FindString(text)
		if found == "" {
			return
		}
		var args []string
		for _, w := range word.FindAllString(text[len(found):], -1) {
			if w == "|" || w == ">" || w == "&&" {
				break
			}
			args = append(args, strings.Trim(w, `"'`))
		}
		out = append(out, command{fmt.Sprintf("%s:%d", p.path, l.number), args, l.fence == ""})
	}
	for _, l := range p.lines() {
		if l.fence != "" {
			add(l, l.text)
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(l.text, -1) {
			add(l, m[1])
		}
	}
	return out
}

// misunderstood says what the program does not understand of a command line. It
// is asked for help, so nothing is run: flags are parsed as they would be.
func misunderstood(t *testing.T, c command) string {
	words := slices.IndexFunc(c.args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if words < 0 {
		words = len(c.args)
	}
	if words == 0 {
		return "write the sub-command before the flags"
	}
	// Help stands before the other flags: one without its value must not swallow it.
	args := slices.Insert(slices.Clone(c.args), words, "--help")
	var stdout, stderr bytes.Buffer
	if code := cli.Main(t.Context(), args, &stdout, &stderr); code != 0 {
		return fmt.Sprintf("exit code %d: %s", code, strings.TrimSpace(stderr.String()))
	}
	h := readHelp(stdout.String())
	if c.named {
		h.least = 0
	}
	return h.refuse(c.args)
}

// help is what a help text says about how to call a command.
type help struct {
	path     []string
	least    int // arguments needed
	most     int // arguments allowed; negative: any number
	valued   map[string]bool
	readable bool
}

var flagLine = regexp.MustCompile(`^\s+(?:-(\w), )?--([\w-]+)( \w+)?(?:  |$)`)

func readHelp(text string) help {
	h := help{valued: map[string]bool{}}
	_, usage, _ := strings.Cut(text, "Usage:\n")
	first, _, _ := strings.Cut(usage, "\n")
	for i, w := range strings.Fields(first) {
		name := strings.Trim(w, "[].…")
		switch {
		case i == 0:
			h.readable = w == "patra"
		case name == "flags", name == "command":
		case name != strings.ToUpper(name):
			h.path = append(h.path, w)
		case strings.HasPrefix(w, "["):
			h.most++
		default:
			h.least++
			h.most++
		}
		if strings.Contains(w, "…") || strings.Contains(w, "...") {
			h.most = -1
		}
	}
	for l := range strings.Lines(usage) {
		if m := flagLine.FindStringSubmatch(strings.TrimRight(l, "\n")); m != nil && m[3] != "" {
			h.valued["--"+m[2]] = true
			h.valued["-"+m[1]] = true
		}
	}
	return h
}

func (h help) refuse(args []string) string {
	if !h.readable {
		return "its help has no usage line"
	}
	var words []string
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			words = append(words, args[i])
		} else if h.valued[args[i]] {
			i++
		}
	}
	if len(words) < len(h.path) || !slices.Equal(words[:len(h.path)], h.path) {
		return fmt.Sprintf("the program takes it for %q", strings.Join(h.path, " "))
	}
	given := len(words) - len(h.path)
	if given < h.least || h.most >= 0 && given > h.most {
		return fmt.Sprintf("%d arguments after %q: %q", given, strings.Join(h.path, " "), words[len(h.path):])
	}
	return ""
}

func TestCommandLinesAreUnderstood(t *testing.T) {
	n := 0
	for _, p := range pages(t) {
		for _, c := range commands(p) {
			n++
			if problem := misunderstood(t, c); problem != "" {
				t.Errorf("%s\n\t%s", c, problem)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d command lines were found", n)
	}
}

func TestMisunderstoodCommandsAreFound(t *testing.T) {
	text := "```sh\n" + `patra harvest crossref --from -2d   # fine
PATRA_DB=sqlite:x.db go run ./cmd/patra task list --status FAILED -o json | less
patra source validate a.yaml b.yaml
patra cursor verify
patra nonsense
patra db nonsense
patra harvest
patra harvest crossref --nonsense
patra harvest crossref --from
patra harvest crossref --workers many
patra task show 1 2
patra --db sqlite:x.db harvest crossref
make test
` + "```\nSee `patra coverage gaps`, `patra run show 1` and `patra coverage gasp`, patra nonsense.\n"
	var refused []string
	for _, c := range commands(page{"x.md", text}) {
		if misunderstood(t, c) != "" {
			refused = append(refused, c.String())
		}
	}
	want := []string{
		"x.md:6: patra nonsense", "x.md:7: patra db nonsense", "x.md:8: patra harvest", "x.md:9: patra harvest crossref --nonsense",
		"x.md:10: patra harvest crossref --from", "x.md:11: patra harvest crossref --workers many", "x.md:12: patra task show 1 2",
		"x.md:13: patra --db sqlite:x.db harvest crossref", "x.md:16: patra coverage gasp",
	}
	if !slices.Equal(refused, want) {
		t.Errorf("refused\n%s\nwant\n%s", strings.Join(refused, "\n"), strings.Join(want, "\n"))
	}
}
