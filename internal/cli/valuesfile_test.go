package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The values of a file are asked for as they were when the source was applied, whatever becomes of the file, until it is
// applied again.
func TestValuesOfAFileOnTheCommandLine(t *testing.T) {
	d := newDesk(t)
	var lock sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		asked = append(asked, strings.TrimPrefix(r.URL.Path, "/"))
		_ = json.NewEncoder(w).Encode(map[string]any{"works": []any{}})
	}))
	t.Cleanup(server.Close)
	harvest := func(from, to string) string {
		t.Helper()
		asked = nil
		d.expect(0, "harvest", "sets", "--from", from, "--to", to, "--now", to)
		slices.Sort(asked)
		return strings.Join(asked, " ")
	}
	file := d.write("sets.yaml", strings.Replace(fmt.Sprintf(partedSource, server.URL), "values: [cs, math]", "valuesFile: lists.txt", 1))
	if r := d.expect(2, "source", "validate", file); !strings.Contains(r.err, "sets.yaml:11:36: endpoints.works.partitions.set.valuesFile: E-VALUES-FILE: lists.txt: it cannot be read: ") {
		t.Error(r.err)
	}
	list := d.write("lists.txt", "# sets\ncs\nmath\nmath\n")
	if r := d.expect(2, "source", "apply", file); !strings.Contains(r.err, `E-VALUES-FILE: lists.txt: line 4: "math" stands there twice, first in line 3`) {
		t.Error(r.err)
	}
	d.write("lists.txt", "# sets\ncs\nmath\n")
	if r := d.expect(0, "source", "validate", file); !strings.Contains(r.err, "W-VALUES-FILE: asks for 2 values that the file lists.txt lists now") {
		t.Error(r.err)
	}
	d.expect(0, "db", "migrate")
	d.expect(0, "source", "apply", file, "--trust")
	if got := harvest("2025-03-01", "2025-03-02"); got != "cs math" {
		t.Errorf("asked for %s", got)
	}
	d.expect(0, "source", "diff", file)

	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "v%d\n", i)
	}
	d.write("lists.txt", "math\n"+many.String())
	if r := d.expect(8, "source", "diff", file); !strings.Contains(r.out, "~ endpoints.works.partitions.set.values 2 values -> 31 values, 30 added: v0, v1, v2, v3, v4, …, 1 removed: cs\n") {
		t.Error(r.out)
	}
	if got := harvest("2025-03-02", "2025-03-03"); got != "cs math" {
		t.Errorf("the file has changed and was not applied, and %s were asked for", got)
	}
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	if got := harvest("2025-03-03", "2025-03-04"); got != "cs math" {
		t.Errorf("the file is gone, and %s were asked for", got)
	}
	exported := d.expect(0, "source", "export", "sets").out
	if !strings.Contains(exported, "values: [cs, math]") || strings.Contains(exported, "valuesFile") {
		t.Error(exported)
	}
	d.expect(0, "source", "diff", d.write("exported.yaml", exported))

	d.write("lists.txt", "cs\nphysics\n")
	d.expect(0, "source", "apply", file, "--trust")
	if got := harvest("2025-03-04", "2025-03-05"); got != "cs physics" {
		t.Errorf("asked for %s", got)
	}
	// The book must not claim what was never asked for physics.
	if r := d.expect(9, "coverage", "gaps", "sets", "--from", "2025-03-01", "--to", "2025-03-05"); !strings.Contains(r.out, "2025-03-01") {
		t.Error(r.out)
	}
}
