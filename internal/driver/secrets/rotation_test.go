//go:build unix

package secrets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// rotating is a file with a token in a folder of its own.
func rotating(t *testing.T, token string) (Limited, secret.Ref, string) {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "refresh")
	writeToken(t, file, token)
	return Limited{trust.Policy{Folders: []string{folder}}}, reference(t, "file:"+file), file
}

func writeToken(t *testing.T, file, token string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(token), 0o640); err != nil {
		t.Fatal(err)
	}
}

func begun(t *testing.T, l Limited, ref secret.Ref, want string) *Rotation {
	t.Helper()
	r, err := l.BeginRotation(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if r.Token.Reveal() != want {
		t.Errorf("the token is %q, want %q", r.Token.Reveal(), want)
	}
	return r
}

func held(t *testing.T, file, want string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(content)) != want {
		t.Errorf("the file holds %q, %v; want %q", content, err, want)
	}
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

// The next token takes the place of the one that was spent, and one that was not spent stays.
func TestATokenIsReplaced(t *testing.T) {
	l, ref, file := rotating(t, "first\n")
	r := begun(t, l, ref, "first")
	if err := r.Keep(secret.New("second")); err != nil {
		t.Fatal(err)
	}
	r.Close()
	held(t, file, "second")
	begun(t, l, ref, "second").Close()
	held(t, file, "second")
}

// A process that was killed left something beside: a whole token is the newest, half a one and
// reserved room are nothing, and what a person put there later counts more.
func TestWhatAKilledProcessLeftBeside(t *testing.T) {
	for name, c := range map[string]struct {
		beside string
		later  bool // a person wrote the file after it
		want   string
	}{
		"nothing yet":            {"", false, "first"},
		"reserved room":          {strings.Repeat("\x00", reserved), false, "first"},
		"half a token":           {"seco", false, "first"},
		"half, then room":        {"seco" + strings.Repeat("\x00", 100), false, "first"},
		"a token, then room":     {"second\n" + strings.Repeat("\x00", 100), false, "second"},
		"a token":                {"second\n", false, "second"},
		"not a token":            {"sec\x01ond\n", false, "first"},
		"something behind it":    {"second\nthird", false, "first"},
		"a person was there too": {"second\n", true, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			l, ref, file := rotating(t, "first\n")
			if err := os.WriteFile(file+next, []byte(c.beside), 0o600); err != nil {
				t.Fatal(err)
			}
			if at := time.Now().Add(time.Hour); c.later {
				if err := os.Chtimes(file, at, at); err != nil {
					t.Fatal(err)
				}
			}
			r := begun(t, l, ref, c.want)
			if err := r.Keep(secret.New("last")); err != nil {
				t.Fatal(err)
			}
			r.Close()
			held(t, file, "last")
		})
	}
}

// What a person puts there while the token is spent is not overwritten.
func TestAPersonsTokenStays(t *testing.T) {
	l, ref, file := rotating(t, "first\n")
	r := begun(t, l, ref, "first")
	writeToken(t, file, "by hand\n")
	if err := r.Keep(secret.New("second")); err != nil {
		t.Fatal(err)
	}
	r.Close()
	held(t, file, "by hand")
}

// Many at once spend each token once.
func TestOneAtATimeSpendsAToken(t *testing.T) {
	l, ref, file := rotating(t, "token-0")
	var mu sync.Mutex
	spent, all := map[string]bool{}, sync.WaitGroup{}
	for range 8 {
		all.Go(func() {
			for range 5 {
				r, err := l.BeginRotation(t.Context(), ref)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if spent[r.Token.Reveal()] {
					t.Errorf("%s was spent twice", r.Token.Reveal())
				}
				spent[r.Token.Reveal()] = true
				following := fmt.Sprint("token-", len(spent))
				mu.Unlock()
				if err := r.Keep(secret.New(following)); err != nil {
					t.Error(err)
				}
				r.Close()
			}
		})
	}
	all.Wait()
	held(t, file, "token-40")
}

// Nothing is spent where the next one could not be kept, and who waits for another can be
// stopped.
func TestATokenThatCannotBeKeptIsNotSpent(t *testing.T) {
	l, ref, file := rotating(t, "first-"+canary)
	if err := os.Mkdir(file+next, 0o700); err != nil { // also for root
		t.Fatal(err)
	}
	if _, err := l.BeginRotation(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "was not spent") || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), next) {
		t.Error(err)
	}
	if err := os.Remove(file + next); err != nil {
		t.Fatal(err)
	}
	r := begun(t, l, ref, "first-"+canary)
	defer r.Close()
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.BeginRotation(stopped, ref); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := r.Keep(secret.New("two\nlines-" + canary)); err == nil || strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
	for _, other := range []string{"env:HOME", "exec:cat x", "file:/etc/hostname"} {
		if _, err := l.BeginRotation(t.Context(), reference(t, other)); err == nil {
			t.Errorf("%s was taken", other)
		}
	}
}
