package installation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/trust"
)

func home(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("HOME", folder)
	t.Setenv("XDG_CONFIG_HOME", folder)
	own, err := userFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	return own
}

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadFindsTheUsersFile(t *testing.T) {
	own := home(t)
	here := t.TempDir()
	t.Chdir(here)
	write(t, filepath.Join(here, FileName), "contact: {email: stranger@example.org}\n", 0o600)
	if got, err := Read(""); err != nil || got.File == filepath.Join(here, FileName) || got.Contact.Email == "stranger@example.org" {
		t.Errorf("a file of the working directory counts: %+v, %v", got, err)
	}
	file := write(t, filepath.Join(own, FileName), "contact: {email: you@example.org}\n", 0o644)
	if got, err := Read(""); err != nil || got.File != file || got.Contact.Email != "you@example.org" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Read(FileName); err != nil || got.Contact.Email != "stranger@example.org" {
		t.Errorf("one that is named: %+v, %v", got, err)
	}
}

func TestReadRefuses(t *testing.T) {
	own := home(t)
	for name, c := range map[string]struct {
		path, says string
	}{
		"not there":  {filepath.Join(own, "none.yaml"), "no such file"},
		"a folder":   {own, "not a regular file"},
		"group":      {write(t, filepath.Join(own, "group.yaml"), "", 0o664), "chmod go-w"},
		"everybody":  {write(t, filepath.Join(own, "all.yaml"), "", 0o606), "chmod go-w"},
		"a bad line": {write(t, filepath.Join(own, "bad.yaml"), "\n\nnothing: 1\n", 0o600), "bad.yaml:3:1: nothing: E-UNKNOWN-KEY"},
		"too long":   {write(t, filepath.Join(own, "long.yaml"), strings.Repeat("#", maxBytes+1), 0o600), "more than"},
	} {
		if _, err := Read(c.path); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

func TestAgreed(t *testing.T) {
	own := home(t)
	agreed, err := OpenAgreed()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := agreed.Consents(); err != nil || len(got) != 0 {
		t.Errorf("nobody agreed: %v, %v", got, err)
	}
	var one, two trust.Use
	for u, text := range map[*trust.Use]string{&one: "env:ONE", &two: "exec:pass show two"} {
		if err := u.Ref.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		u.Host = "api.example.org"
	}
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	by := trust.By{Actor: "ann", Reason: "ours"}
	for _, step := range []error{agreed.Agree([]trust.Use{one, two}, by, at), agreed.Withdraw([]trust.Use{one}, by, at), agreed.Agree([]trust.Use{two}, by, at)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	got, err := agreed.Consents()
	if err != nil || len(got) != 1 || got[0] != (trust.Consent{Use: two, By: by, At: at}) {
		t.Errorf("%+v, %v", got, err)
	}
	file := filepath.Join(own, agreedName)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if got, err := agreed.Consents(); err == nil || len(got) != 0 || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file others may read counts: %v, %v", got, err)
	}
	write(t, file, "{}\nnonsense\n", 0o600)
	if _, err := agreed.Consents(); err == nil || !strings.Contains(err.Error(), "trust.jsonl:2") {
		t.Error(err)
	}
}
