package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// A port that no machine has is refused where it is written, not when somebody waits
// for a connection.
func TestTrust08PortsThatNoMachineHas(t *testing.T) {
	d := newDesk(t)
	file, up := d.simulated("")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := d.write("port.yaml", strings.ReplaceAll(string(text), up.URL(), "https://api.example.org:99999"))
	for _, args := range [][]string{{"source", "validate", wrong}, {"source", "apply", wrong}, {"source", "test", wrong, "--window", firstOfMarch}} {
		d.holds(d.expect(term.ExitUsage, args...).err, "port 99999", "from 1 to 65535")
	}
	events := d.write("events.yaml", "destinations: [{name: hook, webhook: {url: 'https://far.example:99999/x', secret: 'env:X'}}]\nroutes: [{to: hook}]\n")
	d.holds(d.expect(term.ExitUsage, "events", "test", "hook", "--events", events).err, "port 99999")

	for _, address := range []string{"mysql://me:hunter2@db.example:99999/patra", "mysql://me:hunter2@db.example:0/patra"} {
		t.Setenv("PATRA_DB", address)
		var out, err strings.Builder
		if code := Main(t.Context(), []string{"status"}, &out, &err); code != term.ExitUsage || !strings.Contains(err.String(), "from 1 to 65535") || strings.Contains(err.String(), "hunter2") {
			t.Errorf("%d: %s", code, err.String())
		}
	}
	d.empty()
	got := d.run("serve", "--gate", "redis://me:hunter2@cache.example:99999/0")
	if got.code != term.ExitUsage || !strings.Contains(got.err, "from 1 to 65535") || strings.Contains(got.err, "hunter2") {
		t.Errorf("%d: %s", got.code, got.err)
	}
}
