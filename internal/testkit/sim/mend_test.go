package sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mend is the place that makes up for a lie, and what it would be without.
type mend struct {
	lie       string
	file      string // below internal
	with      []string
	without   []string // in their places
	complaint string   // part of what the scenario says then
}

func mends() []mend {
	const dropped, sees = `if away > 0 && asked.Drop {`, `if away > 0 {`
	return []mend{
		{"filter ahead of the stamps", "core/extract/item.go", []string{dropped}, []string{sees}, "I2: form-token lost"},
		{"filter behind the stamps", "core/extract/item.go", []string{dropped}, []string{sees}, "I2: form-offset lost"},
		{"stamps rounded up", "core/extract/item.go", []string{dropped}, []string{sees}, "I2: form-token lost"},
		{"items renamed for a while", "core/document/nothing.go", []string{`page.Lacks = r.lacksXML(parent)`}, []string{`page.Lacks = ""`}, "I2: form-search-xml lost"},
		{"an error in the place of rows", "core/document/csv.go", []string{`rs.lacks = rs.lacksColumn(header)`}, []string{``}, "I2: form-csv lost"},
		{"byte order mark", "core/document/reader.go", []string{`bytes.TrimPrefix(body, []byte(utf8Mark))`}, []string{`bytes.TrimPrefix(body, nil)`}, "no rest"},
		{"pinned item", "core/paging/paging.go", []string{`return min(o.Items, c.Size)`}, []string{`return o.Items`}, "I2: form-offset-blind lost"},
		{"walks that end early", "core/registry/resolve.go", []string{`expected := true`}, []string{`expected := false`}, "I2: form-token lost"},
		{"one day per request", "core/spec/ends.go", []string{`return s.Filter.Ends`}, []string{`return query.NoEnds`}, "I2: form-daily lost"},
		{"a feed in no order", "core/window/order.go", []string{`return t.Unsorted == "" && t.Dated`}, []string{`return t.Dated`}, "I2: form-feed lost"},
		{"a feed to its last item", "core/window/order.go", []string{`.After(w.From.Add(-margin))`}, []string{`.After(w.From.Add(4*enoughPast*time.Second - margin))`}, "I2: form-feed lost"},
		{"a list that is short for a while", "core/generation/judge.go", []string{`float64(n.LastKept) >= c.MinShare*float64(n.Last)`}, []string{`n.LastKept > 0`}, "of them accepted short"},
		{"shelf by shelf", "core/sector/config.go", []string{`range of[name].Groups() {`}, []string{`range of[name].Groups()[1:] {`}, "I2: form-shelves lost"},
		{"shelves that fail for a while", "core/sector/decide.go", []string{`failed = append(failed, s.Window)`}, []string{`failed = append(failed, window.Window{})`}, "I2: form-shelves lost"},
		{"files cut at the end of a line", "core/files/end.go", []string{`l.Lines > 0 && end.Items != l.Lines {`}, []string{`l.Lines > 0 && end.Items > l.Lines {`}, "I2: form-files-gzip lost"},
		{"a file that the listing forgets", "driver/store/ledger/file.go", []string{`which, order, limit := "(f.read_version`}, []string{`which, order, limit := "f.last_listed = p.as_of AND (f.read_version`}, "I2: form-files lost"},
		{"a file that changes while it is read", "driver/filecopy/take.go", []string{`came != "" && came != c.note.Validator`}, []string{`came != "" && came == "?"`}, "I2: form-files lost"},
		{"shelves that fail for a while", "core/sector/lag.go", []string{`s.State == Lost && !part.Empty() {`}, []string{`s.State == Lost && !part.Empty() && len(behind) == 0 {`}, "I2: form-shelves lost"},
		{"shelves that are taken for each other", "core/spec/program.go", []string{`reading.Parts = sector.PartsOf(s.Partitions)`}, []string{`_ = sector.PartsOf`}, "I2: form-shelves lost"},
		{"shelves that are not told apart", "core/spec/program.go", []string{`reading.Parts = sector.PartsOf(s.Partitions)`}, []string{`_ = sector.PartsOf`}, "no run failed for works of another shelf"},
		{"racks that are taken for each other", "core/extract/belongs.go", []string{`slices.Contains(wanted, text)`}, []string{`text != "" || slices.Contains(wanted, text)`}, "I2: form-racks lost"},
		{"racks that come and go", "engine/executor/parents.go", []string{`p.hand, p.ahead = p.ahead[0], p.ahead[1:]`}, []string{`p.hand, p.ahead = p.ahead[0], p.ahead[min(2, len(p.ahead)):]`}, "I2: form-racks lost"},
		{"racks that come and go", "engine/executor/parents.go", []string{`return p.opens.Widen(w, since), true`}, []string{`return w, false`}, "I2: form-racks lost"},
		{"racks that say when they change", "core/slicing/picked.go", []string{`case changed.After(p.After):`}, []string{`case changed.After(p.After.AddDate(1, 0, 0)):`}, "I2: form-racks-changed lost"},
		{"racks that are refused for a while", "engine/executor/parents.go", []string{`p.Lost = append(slices.Clip(p.Lost), lost)`}, []string{`if lost.Status == 0 {
		p.Lost = append(slices.Clip(p.Lost), lost)
	}`}, "I2: form-racks lost"},
		{"racks that are refused for a while", "engine/executor/refusal.go", []string{`p.Lost = append(slices.Clip(p.Lost), lost)`}, []string{``}, "I2: form-racks lost"},
		{"a gap in the records", "core/record/missed.go", []string{`return FirstMiss`}, []string{`return Vanished`}, "works that never changed"},
		{"a list that shrinks", "core/paging/total.go", []string{`return s.Total < 0 || int64(s.Seen) < expected`}, []string{`return s.Total < s.First || int64(s.Seen) < expected`}, "times started over"},
	}
}

// A scenario that never complains proves nothing. Here each lie is told to a program
// from which the one place is taken out that makes up for it, and must be found. The
// files themselves stay as they are: the compiler is shown others in their place.
func TestProofLiesAreFoundWithoutTheirMend(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	told := map[string]bool{}
	for _, m := range mends() {
		told[m.lie] = true
		t.Run(m.lie, func(t *testing.T) {
			m.isFound(t, "TestScenarioLies")
		})
		if slices.Contains(ofTables(), m.lie) {
			t.Run(m.lie+", on a server", func(t *testing.T) { m.isFound(t, "TestScenarioLiesOnServer") })
		}
	}
	// Two that a harvest survives by more than one place: tests of the executor show each.
	told["records of others for a while"], told["foreign items"] = true, true
	for _, l := range lies() {
		if !told[l.name] {
			t.Errorf("nobody knows what makes up for %q", l.name)
		}
	}
}

// isFound expects a test to complain of the lie where its mend is taken out.
func (m mend) isFound(t *testing.T, test string) {
	t.Helper()
	out, err := playWithout(t, m, test)
	if err == nil || !strings.Contains(out, m.complaint) {
		t.Errorf("%v, and no %q without %q of %s:\n%s", err, m.complaint, m.with, m.file, out)
	}
	t.Log(firstWith(out, m.complaint))
}

// playWithout plays the scenario of a lie without its mend.
func playWithout(t *testing.T, m mend, test string) (string, error) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(m.file)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for i, with := range m.with {
		if n := strings.Count(text, with); n != 1 {
			t.Fatalf("%q stands %d times in %s, want once: say where the mend is now", with, n, m.file)
		}
		text = strings.Replace(text, with, m.without[i], 1)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err == nil {
		err = os.WriteFile(changed, []byte(text), 0o600)
	}
	if err == nil {
		err = os.WriteFile(overlay, replace, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", overlay, "-run", "^"+test+"$/^"+strings.ReplaceAll(m.lie, " ", "_")+"$", ".").CombinedOutput()
	return string(out), err
}

// firstWith is the first line that says so.
func firstWith(out, what string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, what) {
			return strings.TrimSpace(line)
		}
	}
	return "nothing"
}
