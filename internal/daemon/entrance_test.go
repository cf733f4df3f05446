package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// R1: beyond this machine it starts with TLS or a named proxy, with names, and with nobody
// let in unnamed.
func TestR1EntranceRefusesToBeExposed(t *testing.T) {
	proxy := []netip.Prefix{netip.MustParsePrefix("10.0.0.5/32")}
	for text, c := range map[string]EntranceConfig{
		"needs TLS":                 {Address: "192.0.2.1:8750"},
		"so it needs TLS":           {Address: "0.0.0.0:8750", Hosts: []string{"p.example"}},
		"the names it answers to":   {Address: ":8750", Proxies: proxy},
		"leave out --anonymous":     {Address: "192.0.2.1:8750", Proxies: proxy, Anonymous: access.Viewer},
		"can be viewer at most":     {Anonymous: access.Admin},
		"certificate needs its key": {Cert: "/a"},
		"use HOST:PORT":             {Address: "8750"},
	} {
		if err := c.Check(); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []EntranceConfig{{}, {Anonymous: access.Viewer}, {Address: "[::1]:1"}, {Address: "unix:/tmp/x"}, {Address: "192.0.2.1:1", Proxies: proxy}, {Address: "192.0.2.1:1", Cert: "/a", Key: "/b"}} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// open opens the door of a new app on a SQLite file.
func openedDoor(t *testing.T, c EntranceConfig) (app *App, log *bytes.Buffer, file string) {
	t.Helper()
	log, file = &bytes.Buffer{}, filepath.Join(t.TempDir(), "patra.db")
	app, err := Open(t.Context(), Config{Database: "sqlite:" + file, Entrance: c, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	closeDoor, err := app.openDoor(t.Context(), func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeDoor)
	return app, log, file
}

// R2: where nobody has a token, the first one is in a file that only the user may read;
// the log has its path, not the token. It comes once.
func TestR2FirstTokenIsInAPrivateFile(t *testing.T) {
	app, log, file := openedDoor(t, EntranceConfig{Address: "127.0.0.1:0"})
	text, err := os.ReadFile(file + ".token")
	if err != nil || !regexp.MustCompile(`^patra_[A-Za-z0-9_-]{43}\n?$`).Match(text) {
		t.Fatalf("%q, %v", text, err)
	}
	if info, err := os.Stat(file + ".token"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if strings.Contains(log.String(), strings.TrimSpace(string(text))) || !strings.Contains(log.String(), file+".token") {
		t.Errorf("%s", log)
	}
	if err := os.Remove(file + ".token"); err != nil {
		t.Fatal(err)
	}
	again, err := app.openDoor(t.Context(), func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	if _, err := os.Stat(file + ".token"); err == nil {
		t.Error("a second first token was made")
	}
}

// R2: where somebody looks at the terminal, a link is shown there, and no token is made.
func TestR2LoginLinkGoesToTheTerminalOnly(t *testing.T) {
	var told string
	_, log, file := openedDoor(t, EntranceConfig{Address: "127.0.0.1:0", Tell: func(address string) { told = address }})
	if !strings.HasPrefix(told, "http://127.0.0.1:") || !strings.Contains(told, "/login?code=") {
		t.Fatalf("told %q", told)
	}
	if strings.Contains(log.String(), told[strings.Index(told, "code="):]) {
		t.Errorf("the log has the code: %s", log)
	}
	if _, err := os.Stat(file + ".token"); err == nil {
		t.Error("a token was written too")
	}
	got, err := http.Get(told)
	if err != nil || got.StatusCode != 200 {
		t.Fatal(got, err)
	}
	got.Body.Close()
}

// R1: a unix socket is the user's alone, and one that a dead process left is replaced.
func TestR1UnixSocketIsPrivate(t *testing.T) {
	dir, err := os.MkdirTemp("", "patra") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	dead, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	app, _, _ := openedDoor(t, EntranceConfig{Address: "unix:" + path})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	got, err := client.Get("http://localhost/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if text, _ := io.ReadAll(got.Body); got.StatusCode != 200 || string(text) != "ready\n" {
		t.Errorf("%d %s", got.StatusCode, text)
	}
	if _, err := app.openDoor(t.Context(), func(error) {}); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("the socket of a living process: %v", err)
	}
}
