package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// §14.10: no line of a log tells an address, a number or a secret, in either form.
func TestLogsTellNoPeople(t *testing.T) {
	const address, number, canary = "jane.doe@example.org", "+49 151 23456789", "canary-4711"
	item := struct {
		Author string
		key    secret.Text
	}{address, secret.New(canary)}
	for format, kept := range map[string][]string{
		config.LogText: {"level=INFO", "of.n=7", "of.at=1970-01-01T00:00:00.000Z", "of.took=1.5s", "of.key=[secret]", "[email:", "[phone:"},
		config.LogJSON: {`"level":"INFO"`, `"n":7`, `"at":"1970-01-01T00:00:00Z"`, `"took":1.5`, `"key":"[secret]"`, "[email:", "[phone:"},
	} {
		var out bytes.Buffer
		log := NewLog(&out, format, slog.LevelDebug)
		log.With("by", address).WithGroup("of").Info("asked "+address, "text", number, "item", item, "pointer", &item, "list", []string{address},
			"map", map[string]any{"who": address, "key": item.key}, "raw", json.RawMessage(`{"who":"`+address+`"}`),
			"error", fmt.Errorf("item 3: %w", errors.New("author "+address)), slog.Group("inner", "who", address), "key", item.key, "n", 7,
			"at", time.Unix(0, 0).In(time.FixedZone("", 3600)), "took", 1500*time.Millisecond)
		text := out.String()
		for _, hidden := range []string{address, "jane", "23456789", canary} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s is in %s", hidden, text)
			}
		}
		for _, kept := range kept {
			if !strings.Contains(text, kept) {
				t.Errorf("%s is not in %s", kept, text)
			}
		}
		if format == config.LogJSON && (strings.Count(text, "\n") != 1 || !json.Valid(out.Bytes())) {
			t.Errorf("not one line of JSON: %s", text)
		}
	}
}

// heard is told of every line.
type heard chan string

func (h heard) Write(line []byte) (int, error) {
	h <- string(line)
	return len(line), nil
}

// Whoever rotates logs renames the file and sends SIGHUP: the next line stands in a
// new file, and nothing of the old one is lost.
func TestLogFileIsOpenedAnew(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no such signal")
	}
	path := filepath.Join(t.TempDir(), "patra.log")
	file, err := openLogFile(path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	news := make(heard)
	defer reopenOnHangup(file, NewLog(news, config.LogText, slog.LevelInfo))()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	write := func(line string) {
		if _, err := file.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("between\n")
	if err := self.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if line := <-news; !strings.Contains(line, "opened anew") {
		t.Error(line)
	}
	write("after\n")
	if err := os.Remove(path); err != nil { // what lies there now cannot be opened as a file
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if line := <-news; !strings.Contains(line, "level=WARN") || !strings.Contains(line, "is a directory") {
		t.Error(line)
	}
	write("at last\n") // into the one that is open
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path + ".1")
	if err != nil || string(old) != "before\nbetween\n" {
		t.Errorf("%q, %v", old, err)
	}
}

// A line that the file does not take is seen elsewhere.
func TestLogFileThatTakesNothing(t *testing.T) {
	var instead bytes.Buffer
	file, err := openLogFile(filepath.Join(t.TempDir(), "patra.log"), &instead)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.file.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := file.Write([]byte(line)); err != nil {
			t.Error(err)
		}
	}
	if text := instead.String(); strings.Count(text, "cannot be written") != 1 || !strings.Contains(text, "one\n") || !strings.HasSuffix(text, "two\n") {
		t.Errorf("%q", text)
	}
}

// Whoever harvests by hand hears alarms; that single tasks were given up is counted when
// the command ends. Who asks for a log gets all of it.
func TestAlarmsAreForEverybody(t *testing.T) {
	for _, c := range []struct {
		env  Env
		told string
	}{
		{Env{}, "alarm"},
		{Env{Log: LogFlags{Level: "error"}}, "alarm given up"},
		{Env{Verbose: true}, "alarm given up other"},
	} {
		var out bytes.Buffer
		c.env.Err = &out
		log := c.env.Logger().With("task", 7)
		log.Error("alarm")
		log.Error(worklog.GivenUp)
		log.Info("other")
		var told []string
		for _, text := range []string{"alarm", "given up", "other"} {
			if strings.Contains(out.String(), text) {
				told = append(told, text)
			}
		}
		if got := strings.Join(told, " "); got != c.told {
			t.Errorf("%+v: %s, want %s", c.env.Log, got, c.told)
		}
	}
}
