package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

const aMarchDay = "2025-03-02"

func (d *desk) harvestTo(day string, set ...string) result {
	d.Helper()
	args := []string{"harvest", "crossref", "--from", "2025-03-01", "--to", day}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	return d.run(args...)
}

// The address that upstreams may write to is given once, in the environment or in
// patra.yaml, and one is missed where it could be sent.
func TestTrust16Contact(t *testing.T) {
	d := newDesk(t)
	file, server := d.simulated("")
	d.expect(term.ExitOK, "source", "apply", file)
	sent := func() string {
		log := server.Log()
		return log[len(log)-1].Query.Get("mailto")
	}
	r := d.harvestTo(aMarchDay)
	d.holds(r.err, "W-NO-CONTACT", "PATRA_CONTACT", "patra.yaml")
	d.holds(d.run("source", "test", "crossref", "--window", firstOfMarch).err, "W-NO-CONTACT")
	if sent() != "" {
		t.Errorf("sent %q", sent())
	}

	for _, c := range []struct{ yaml, variable, set, want, origin string }{
		{"contact: {email: file@example.org}\n", "", "", "file@example.org", "patra.yaml"},
		{"contact: {email: file@example.org}\n", "env@example.org", "", "env@example.org", "PATRA_CONTACT"},
		{"", "env@example.org", "contact.email=set@example.org", "set@example.org", "override"},
	} {
		d.installs(c.yaml)
		t.Setenv("PATRA_CONTACT", c.variable)
		args := []string{"source", "test", "crossref", "--window", firstOfMarch}
		explain := []string{"source", "explain", "crossref", "-o", "json"}
		if c.set != "" {
			args, explain = append(args, "--set", c.set), append(explain, "--set", c.set)
		}
		if r := d.expect(term.ExitOK, args...); sent() != c.want || strings.Contains(r.err, "W-NO-CONTACT") {
			t.Errorf("sent %q, want %q\n%s", sent(), c.want, r.err)
		}
		d.holds(d.expect(term.ExitOK, explain...).out, c.want, c.origin)
	}
	if r := d.run("harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-04"); sent() != "env@example.org" {
		t.Errorf("a harvest sent %q\n%s", sent(), r.err)
	}
	t.Setenv("PATRA_CONTACT", "nobody")
	d.holds(d.expect(term.ExitUsage, "source", "list").err, "PATRA_CONTACT")
	t.Setenv("PATRA_CONTACT", "")
	path := d.installs("contact:\n  mail: you@example.org\n")
	d.holds(d.expect(term.ExitUsage, "source", "list").err, path+":2:3: contact.mail: E-UNKNOWN-KEY", "email")
}

// What was set by hand once and is forgotten in a timer is told.
func TestTrust16SettingsThatDiffer(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.expect(term.ExitOK, "source", "apply", file)
	if r := d.harvestTo("2025-03-02", "contact.email=ann@example.org"); strings.Contains(r.err, "settings differ") {
		t.Errorf("there was no harvest before: %s", r.err)
	}
	if r := d.harvestTo("2025-03-03", "contact.email=ann@example.org"); strings.Contains(r.err, "settings differ") {
		t.Errorf("they are the same: %s", r.err)
	}
	r := d.harvestTo("2025-03-04", "paging.size=7")
	d.holds(r.err, "settings differ from those of the last harvest (plan ", "contact.email (an address) → (none)", "paging.size 5 → 7")
	if strings.Contains(r.err, "ann@example.org") {
		t.Errorf("the address is repeated: %s", r.err)
	}
}

// A harvest of cron is quiet. Where the folder of its database is not mounted it makes a new one
// there, and that is told all the same: nothing else would show it.
func TestANewDatabaseIsToldToTheQuiet(t *testing.T) {
	d := emptyDesk(t)
	_, server := d.simulated("")
	harvest := []string{"harvest", "crossref", "--now", "2025-03-02T00:00:00Z", "--set", "http.baseUrl=" + server.URL(), "--set", "http.allowPrivate=true", "-q"}
	d.holds(d.expect(term.ExitOK, harvest...).err, "created a new database at ")
	if r := d.expect(term.ExitOK, harvest...); strings.Contains(r.err, "created") {
		t.Errorf("it was there before: %s", r.err)
	}
}

// Whoever mistypes the database sees that another one was made.
func TestTrust16NewDatabase(t *testing.T) {
	for name, args := range map[string][]string{
		"harvest": nil, "apply": {"source", "apply"}, "migrate": {"db", "migrate"},
	} {
		t.Run(name, func(t *testing.T) {
			d := emptyDesk(t)
			file, server := d.simulated("")
			t.Chdir(d.dir)
			d.file = "patra.db"
			whole, err := filepath.EvalSymlinks(d.dir)
			if err != nil {
				t.Fatal(err)
			}
			told := "created a new database at " + filepath.Join(whole, "patra.db")
			run := func() result {
				switch name {
				case "apply":
					return d.expect(term.ExitOK, "source", "apply", file)
				case "migrate":
					return d.expect(term.ExitOK, args...)
				}
				return d.harvestTo(aMarchDay, "http.baseUrl="+server.URL(), "http.allowPrivate=true")
			}
			d.holds(run().err, told)
			if r := run(); strings.Contains(r.err, "created") {
				t.Errorf("it was there before: %s", r.err)
			}
			if _, err := os.Stat("patra.db"); err != nil {
				t.Error(err)
			}
		})
	}
}
