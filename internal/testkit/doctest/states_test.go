package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// step is an arrow between two states.
type step struct{ from, to string }

var (
	heading = regexp.MustCompile(`^## (\w+)$`)
	arrow   = regexp.MustCompile(`^\s*(\S+) --> (\S+)`)
)

// drawn reads the steps of each diagram, by the heading above it. Arrows from
// and to the outside, [*], are no steps.
func drawn(p page) map[string][]step {
	out := map[string][]step{}
	topic := ""
	for _, l := range p.lines() {
		if m := heading.FindStringSubmatch(l.text); m != nil && l.fence == "" {
			topic = m[1]
		}
		m := arrow.FindStringSubmatch(l.text)
		if l.fence != "mermaid" || m == nil || m[1] == "[*]" || m[2] == "[*]" {
			continue
		}
		out[topic] = append(out[topic], step{m[1], m[2]})
	}
	return out
}

// legal lists the steps among all pairs of states that the program allows.
func legal[S ~string](states []string, can func(from, to S) bool) (out []step) {
	for _, from := range states {
		for _, to := range states {
			if can(S(from), S(to)) {
				out = append(out, step{from, to})
			}
		}
	}
	return out
}

// compare says what the page draws and the program refuses, and the other way round.
func compare(drawn, legal []step) (differences []string) {
	count := map[step]int{}
	for _, s := range drawn {
		count[s]++
	}
	for _, s := range legal {
		if count[s] == 0 {
			differences = append(differences, s.from+" --> "+s.to+" is legal and not drawn")
		}
	}
	for _, s := range slices.SortedFunc(maps.Keys(count), order) {
		switch {
		case !slices.Contains(legal, s):
			differences = append(differences, s.from+" --> "+s.to+" is drawn and not legal")
		case count[s] > 1:
			differences = append(differences, s.from+" --> "+s.to+" is drawn twice")
		}
	}
	return differences
}

func order(a, b step) int { return strings.Compare(a.from+" "+a.to, b.from+" "+b.to) }

func TestDiagramsAgreeWithTheProgram(t *testing.T) {
	states := declared(t)
	onPage := drawn(pageAt(t, stateMachines))
	for topic, want := range map[string][]step{
		"Task":  legal(states["TaskStatus"], ingest.TaskStatus.CanBecome),
		"Run":   legal(states["RunStatus"], ingest.RunStatus.CanBecome),
		"Slice": legal(states["SliceStatus"], ingest.SliceStatus.CanBecome),
		"Plan":  legal(states["PlanStatus"], ingest.PlanStatus.CanBecome),

		"Quarantine": legal(states["RejectStatus"], ingest.RejectStatus.CanBecome),
	} {
		if len(want) == 0 {
			t.Errorf("%s: no legal step was found, so nothing was compared", topic)
		}
		for _, difference := range compare(onPage[topic], want) {
			t.Errorf("%s: %s: %s", stateMachines, topic, difference)
		}
		delete(onPage, topic)
	}
	for topic := range onPage {
		t.Errorf("%s: the diagram of %q belongs to no status type", stateMachines, topic)
	}
}

// declared reads the constants of each status type from the source, so that a
// new state cannot be overlooked here.
func declared(t *testing.T) map[string][]string {
	t.Helper()
	file := filepath.Join(root(t), "internal", "core", "ingest", "status.go")
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		kind, ok := spec.Type.(*ast.Ident)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			literal, ok := value.(*ast.BasicLit)
			if !ok {
				continue
			}
			if text, err := strconv.Unquote(literal.Value); err == nil {
				out[kind.Name] = append(out[kind.Name], text)
			}
		}
		return true
	})
	for _, kind := range []string{"TaskStatus", "RunStatus", "SliceStatus", "PlanStatus", "BatchStatus", "RejectStatus"} {
		if len(out[kind]) < 4 {
			t.Fatalf("found only %v of %s", out[kind], kind)
		}
	}
	return out
}

func TestDifferencesAreFound(t *testing.T) {
	p := page{"x.md", "## Task\n\n```mermaid\nstateDiagram-v2\n  [*] --> A : start\n  A --> B : go\n  A --> B\n  B --> C\n  C --> [*]\n```\nA --> C\n"}
	got := compare(drawn(p)["Task"], []step{{"A", "B"}, {"B", "A"}})
	want := []string{"B --> A is legal and not drawn", "A --> B is drawn twice", "B --> C is drawn and not legal"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
