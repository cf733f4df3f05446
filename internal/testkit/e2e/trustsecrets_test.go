package e2e

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// A record, an export, an event, a kept answer, a bundle, evidence: whatever
// spelling the upstream chose for the key it repeats, none of them holds it.
func TestTrust02NoSpellingOfAKeyIsStored(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		c := newCanary(t, database)
		c.harvest(1, authForm(t, "key-query"))
		source := c.sources[0]
		for _, args := range [][]string{
			{"data", "export", source, "--format", "jsonl", "--out", filepath.Join(c.dir, "data", "lines")},
			{"data", "export", source, "--format", "csv", "--compress", "gzip", "--out", filepath.Join(c.dir, "data", "table")},
			{"quarantine", "export", source, "--out", filepath.Join(c.dir, "rejects.jsonl")},
			{"events", "tail", "-n", "50", "-o", "json"},
			{"batch", "show", "1", "-o", "json"},
			{"batch", "raw", "1"},
			{"batch", "export", "1", "--out", filepath.Join(c.dir, "bundles", "1.zip"), "--reason", "canary"},
		} {
			c.does(args...)
		}
		c.leftBehind()
		for _, place := range c.left.find(c.secrets) {
			t.Error(place)
		}
		for _, place := range []string{"table ing_record_body.payload", "table ing_batch_evidence.response", "output of batch raw", "output of events tail", "file"} {
			if !strings.Contains(string(c.left[place]), "[secret]") {
				t.Errorf("no echo has reached %s, so its search proves nothing", place)
			}
		}
	})
}

// An upstream puts the key into a header that the error about it would repeat. The
// error goes to the terminal, the log and the database.
func TestTrust04ErrorsOfASignedRequestHoldNoKey(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		c := newCanary(t, database)
		for i, name := range []string{"key-query", "basic", "oauth", "session", "hmac"} {
			c.failSome(i, authForm(t, name))
		}
		c.leftBehind()
		for _, place := range c.left.find(c.secrets) {
			t.Error(place)
		}
		if !strings.Contains(string(c.left["table ing_task_run.error"]), "encoding") {
			t.Error("no error about the header was stored, so the search proves nothing")
		}
	})
}

// failSome harvests from an upstream that has that header in its first answer, in each
// fourth after it, and in its first one to a login. One worker asks, so that the first
// slice ends in a failure before it has a page (a slice with pages is tried again) and
// no three slices fail in a row, which would open the breaker.
func (c *canary) failSome(i int, f simulated.Form) {
	t := c.t
	t.Helper()
	auth := &f.Options.Forms.Auth
	auth.Secret = c.secret("secret of " + f.Name)
	server, err := upsim.NewServer(c.data, f.Options)
	if err != nil {
		t.Fatal(err)
	}
	var asked, logins atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if login := !strings.HasPrefix(r.URL.Path, "/forms/"); login && logins.Add(1) > 1 || !login && asked.Add(1)%4 != 1 {
			server.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Encoding", auth.Secret)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(web.Close)
	text := f.YAML(web.URL)
	for name, value := range map[string]string{"FORM_USER": auth.User, "FORM_SECRET": auth.Secret} {
		text = strings.ReplaceAll(text, "env:"+name, c.reference(i, strings.TrimPrefix(name, "FORM_"), value))
	}
	file := filepath.Join(t.TempDir(), f.Name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.does("source", "apply", file, "--trust")
	if code := c.run(append(c.args("form-"+f.Name), "--workers", "1", "--set", "retry.taskAttempts=1", "--set", "retry.maxAttempts=1")...); code == 0 {
		t.Errorf("%s: exit 0 although some answers could not be read", f.Name)
	}
	c.run("status", "form-"+f.Name)
}

// What the program makes for itself is readable by its owner alone, however the
// machine is set up. Exports have rules of their own.
func TestTrust04FilesAreForTheirOwnerAlone(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	database := filepath.Join(t.TempDir(), "patra.db")
	c := newCanary(t, "sqlite:"+database)
	c.harvest(0, authForm(t, "key-query")) // its first process is killed, which leaves the log of the database
	c.does("batch", "export", "1", "--out", filepath.Join(c.dir, "bundles", "1.zip"), "--reason", "canary")
	c.archive()
	seen := map[string]bool{}
	for _, dir := range []string{filepath.Dir(database), c.dir} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			seen[strings.TrimLeft(filepath.Ext(path), ".")] = true
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has the rights %s", path, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !seen["db"] || !seen["zip"] || len(seen) < 3 {
		t.Errorf("only files of these kinds were looked at: %v", fmt.Sprint(seen))
	}
}
