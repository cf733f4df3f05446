package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// A damaged database is told of, with the event or the record that it hit; no command
// ends with a stack of calls.
func TestDamagedVersionsAreNamed(t *testing.T) {
	const ref = "patra://lib/letters/r004?version=2"
	of := " WHERE body_id = (SELECT body_id FROM ing_record WHERE provider_id = 'r004')"
	for name, c := range map[string]struct{ damage, want string }{
		"the version is gone":      {"DELETE FROM ing_record_body" + of, "current version of the record is missing"},
		"the record says too much": {"UPDATE ing_record SET version = 3 WHERE provider_id = 'r004'", "the record says 3"},
		"the item cannot be read":  {"UPDATE ing_record_body SET codec = 's2', payload = x'ffffff'" + of, "version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			d := revised(t)
			d.many(c.damage)
			asked := ref
			if strings.Contains(name, "too much") {
				asked = "patra://lib/letters/r004?version=3"
			}
			r := d.expect(term.ExitFailure, "data", "get", "--ref", asked)
			d.holds(r.err, "event "+asked, c.want)
			if r.out != "" {
				t.Errorf("printed %q", r.out)
			}
			version := asked[len(asked)-1:]
			d.holds(d.expect(term.ExitFailure, "data", "get", "lib", "r004", "--version", version).err, "r004")
		})
	}
}

// An event that cannot be built waits for an operator; the others go on.
func TestADamagedEventHoldsUpNoOther(t *testing.T) {
	d := revised(t)
	d.many("UPDATE ing_record_body SET codec = 's2', payload = x'ffffff' WHERE body_id = (SELECT body_id FROM ing_record WHERE provider_id = 'r004')")
	d.many("DELETE FROM ing_record_body WHERE body_id = (SELECT body_id FROM ing_record WHERE provider_id = 'r005')")
	dir := filepath.Join(d.dir, "events")
	declaration := d.write("events.yaml", "destinations:\n  - name: files\n    jsonl: {dir: "+dir+"}\nroutes:\n  - to: files\n")
	d.expect(term.ExitPartial, "events", "publish", "--events", declaration)
	var dead []view.Outgoing
	d.decode(d.expect(term.ExitOK, "outbox", "list", "--status", "DEAD", "-o", "json").out, &dead)
	if len(dead) != 2 || dead[0].ErrorCode != "BODY_GONE" || dead[1].ErrorCode != "BODY_GONE" {
		t.Fatalf("%+v", dead)
	}
	if n := len(d.lines(dir)); n != 60 { // 60 letters, of which one changed and one went, without the two
		t.Errorf("%d events came", n)
	}
	d.holds(d.expect(term.ExitOK, "outbox", "show", fmt.Sprint(dead[0].ID)).out, "BODY_GONE", "cannot be read")
}

// A definition that cannot be read is no reason to write other columns than yesterday: the
// file would look whole. Formats without columns need no definition.
func TestADamagedDefinitionChangesNoColumns(t *testing.T) {
	d := revised(t)
	d.many("UPDATE reg_prov_response_cfg SET extra_json = '[1' WHERE provenance_id = (SELECT id FROM reg_provenance WHERE provenance_code = 'lib')")
	for _, args := range [][]string{{"--format", "csv"}, {"--fields", "title"}} {
		r := d.expect(term.ExitFailure, append([]string{"data", "export", "lib", "--out", "-"}, args...)...)
		d.holds(r.err, "which columns lib letters has is not known", "patra db check", "--format jsonl")
		if r.out != "" {
			t.Errorf("printed %q", r.out)
		}
	}
	if n := strings.Count(d.expect(term.ExitOK, "data", "export", "lib", "--out", "-").out, "\n"); n != 59 {
		t.Errorf("%d records", n)
	}
}
