package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// I12: a password need not stand on the command line, and no address is repeated.
func TestAddressesMayBeReferences(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "patra.db")
	t.Setenv("PATRA_TEST_ADDRESS", "sqlite:"+file)
	note := filepath.Join(dir, "address")
	if err := os.WriteFile(note, []byte("sqlite:"+file+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"env:PATRA_TEST_ADDRESS", "file:" + note, "exec:cat " + note} {
		app, err := Open(t.Context(), Config{Database: text})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if app.Bodies.Dir() != file+".raw" {
			t.Errorf("%s: bodies in %s", text, app.Bodies.Dir())
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Setenv("PATRA_TEST_ADDRESS", "canary-4711://me:canary-4711@host")
	for text, says := range map[string]string{"env:PATRA_TEST_ADDRESS": "must be sqlite:FILE", "env:PATRA_TEST_NOT_SET": "not there", "file:" + dir + "/none": "not there", "exec:false": "code 1"} {
		if _, err := Open(t.Context(), Config{Database: text}); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := Open(t.Context(), Config{Database: "sqlite:" + file, Gate: text}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("gate %s: %v", text, err)
		}
	}
}
