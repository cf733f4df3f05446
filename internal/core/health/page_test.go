package health

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of the page anew")

const (
	pageFile = "../../../docs/self-healing.md"
	opening  = "<!-- the matrix: written by go test ./internal/core/health -update -->\n"
	closing  = "<!-- end of the matrix -->\n"
)

// The page says what the program does: its table is the list in matrix.go.
func TestThePageShowsTheMatrix(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), opening)
	shown, after, ended := strings.Cut(rest, closing)
	if !found || !ended {
		t.Fatalf("%s lacks the marks of its table", pageFile)
	}
	want := table()
	if *update {
		if err := os.WriteFile(pageFile, []byte(before+opening+want+closing+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != want {
		t.Errorf("the table of %s is not the list in matrix.go; run this test with -update", pageFile)
	}
}

func table() string {
	var out strings.Builder
	out.WriteString("| condition | when | actions | taken back | where |\n|---|---|---|---|---|\n")
	for _, r := range Matrix() {
		var actions, rooms []string
		for _, a := range r.Actions {
			actions = append(actions, "`"+string(a)+"`")
		}
		for room := range strings.SplitSeq(r.By, ", ") {
			rooms = append(rooms, "`"+room+"`")
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", r.Condition, r.When, strings.Join(actions, ", "), r.Ends, strings.Join(rooms, ", "))
	}
	return out.String()
}
