package cli

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/audit"
)

// archived is a desk whose history is in files, with three entries in its audit log.
func archived(t *testing.T) *desk {
	t.Helper()
	d := oldHarvest(t)
	d.expect(term.ExitOK, "source", "pause", "crossref", "--reason", "they asked us to")
	d.expect(term.ExitOK, "source", "resume", "crossref", "--reason", "they thanked")
	d.expect(term.ExitOK, "db", "archive", "--reason", "yearly")
	return d
}

// rewriteIndex changes the index of an archive, as somebody who knows the format would.
func (d *desk) rewriteIndex(name string, change func(index string) string) string {
	d.Helper()
	path := filepath.Join(d.file+".archive", name)
	content, err := os.ReadFile(path)
	if err != nil {
		d.Fatal(err)
	}
	end := len(content) - len("PATRAIX1") - 4
	length := int(binary.LittleEndian.Uint32(content[end:]))
	rows, index := content[:end-length-8], change(string(content[end-length:end]))
	out := binary.LittleEndian.AppendUint32(rows[:len(rows):len(rows)], 0x184D2A50)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(index)+12))
	out = append(out, index...)
	out = append(binary.LittleEndian.AppendUint32(out, uint32(len(index))), "PATRAIX1"...)
	if err := os.WriteFile(path, out, 0o600); err != nil {
		d.Fatal(err)
	}
	return path
}

// A forged archive ends in a message, not in a panic, wherever it is met.
func TestTrust07ForgedArchive(t *testing.T) {
	d := archived(t)
	var plan string
	for _, a := range d.archives() {
		if a.Kind == "PLANS" {
			plan = a.Name
		}
	}
	if plan == "" {
		t.Fatalf("%+v", d.archives())
	}
	d.rewriteIndex(plan, func(string) string {
		return `{"parts":[{"offset":0,"size":4611686018427387904,"rows":1,"lineage":{"plan":[0,9],"batch":[0,999]}}]}`
	})
	for _, args := range [][]string{{"db", "archive", "show", "batch/1"}, {"db", "archive", "find", "plan/1"}, {"batch", "show", "1"}, {"batch", "replay", "1"}} {
		got := d.run(args...)
		if got.code == term.ExitOK || !strings.Contains(got.err, plan+" is damaged") || !strings.Contains(got.err, "patra db archive check") {
			t.Errorf("%v: exit code %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	got := d.expect(term.ExitFindings, "audit", "verify")
	d.holds(got.out, "UNREADABLE", plan)
}

// An archive that cannot vouch for the audit log is told of: one that is missing, that
// was changed, or that holds no head.
func TestTrust08AuditVerifyTellsOfArchives(t *testing.T) {
	d := archived(t)
	d.expect(term.ExitOK, "audit", "verify")
	name := d.archives()[0].Name
	path := filepath.Join(d.file+".archive", name)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	report := func(want audit.Problem) {
		t.Helper()
		var r audit.Report
		got := d.expect(term.ExitFindings, "audit", "verify", "-o", "json")
		d.decode(got.out, &r)
		if len(r.Findings) != 1 || r.Findings[0].Problem != want || !strings.Contains(r.Findings[0].Text, name) {
			t.Errorf("%+v, want %s", r.Findings, want)
		}
		d.holds(got.err, "cannot vouch for the audit log")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	report(audit.Unreadable)

	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	headless := func(index string) string {
		before, _, found := strings.Cut(index, `,"auditHead"`)
		if !found {
			t.Fatalf("%.200s holds no head", index)
		}
		return before + "}"
	}
	d.rewriteIndex(name, headless)
	report(audit.Unreadable) // the hash it was sealed with tells

	changed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seal := func(content []byte) { // whoever can write to the database writes the other hash too
		d.many(fmt.Sprintf("UPDATE ing_archive SET file_hash = '%s', file_bytes = %d WHERE file_name = '%s'", sha256Of(content), len(content), name))
	}
	seal(changed)
	report(audit.NoHead)

	denied := d.rewriteIndex(name, func(index string) string {
		return strings.TrimSuffix(index, "}") + `,"auditHead":"` + audit.Root() + `"}`
	})
	content, err := os.ReadFile(denied)
	if err != nil {
		t.Fatal(err)
	}
	seal(content)
	report(audit.NoHead) // it says that there was no entry, and there was
}

// The number of the newest entry is part of what was written.
func TestTrust08NumberOfTheNewestAuditEntry(t *testing.T) {
	d := archived(t)
	d.many("UPDATE ing_audit_log SET id = id + 7 WHERE id = (SELECT MAX(id) FROM ing_audit_log)")
	got := d.expect(term.ExitFindings, "audit", "verify")
	d.holds(got.out, "EDITED", "10")
	d.holds(got.err, "tampered with")
}

func sha256Of(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
