package filecopy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/files"
)

// age makes everything in a folder look as if nobody had touched it for a while.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	for _, e := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
		if err := os.Chtimes(filepath.Join(dir, e.Name()), then, then); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	for _, e := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// A copy that nobody had in hand for long is removed with its lock. One that is in hand stays,
// however old its files are, whichever process holds it; so does one that was in hand lately, and
// whatever is not ours.
func TestSweepRemovesWhatWasLeftBehind(t *testing.T) {
	dir := t.TempDir()
	left := take(t, New(dir), "left", []byte("0123456789"))
	part := must[*Copy](t)(New(dir).Take("part"))
	if err := part.Begin(200, exchange.Header{}, 10); err != nil {
		t.Fatal(err)
	}
	must[int](t)(part.Write([]byte("012")))
	for _, c := range []*Copy{left, part} {
		if err := c.Close(); err != nil { // the process ends, and its task never comes back
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"mine.txt": "a file of somebody else", "crashed.json.new": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own, other := New(dir), New(dir)
	held := take(t, own, "held", []byte("01234"))
	elsewhere := take(t, other, "elsewhere", []byte("01234"))
	age(t, dir, 3*LeftBehind)
	if err := take(t, own, "young", []byte("01")).Close(); err != nil {
		t.Fatal(err)
	}
	age(t, dir, LeftBehind/2)
	if swept := must[Swept](t)(own.Sweep(t.Context(), time.Now())); swept != (Swept{}) {
		t.Errorf("before its time: %+v", swept)
	}
	for _, name := range []string{"left.lock", "left.json", "left.part", "part.lock", "part.json", "part.part", "crashed.json.new", "mine.txt", "held.part", "held.lock", "elsewhere.lock"} {
		then := time.Now().Add(-2 * LeftBehind)
		if err := os.Chtimes(filepath.Join(dir, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	if swept := must[Swept](t)(own.Sweep(t.Context(), time.Now())); swept.Copies != 3 || swept.Bytes != 13 {
		t.Errorf("%+v: %s", swept, names(t, dir))
	}
	if got, want := names(t, dir), "elsewhere.json elsewhere.lock elsewhere.part held.json held.lock held.part mine.txt swept young.json young.lock young.part"; got != want {
		t.Errorf("left are\n%s, want\n%s", got, want)
	}
	for _, c := range []*Copy{held, elsewhere} {
		if got, err := readAll(c, files.Config{Addresses: []string{"a"}}.WithDefaults()); err != nil || got != "01234" {
			t.Errorf("%s: %q %v", c.key, got, err)
		}
	}
	if _, err := New(dir).Take("elsewhere"); err == nil {
		t.Error("a sweep let go of a copy of another one")
	}
}

// A sweep is due once an hour, for all processes together, and never where no folder is.
func TestSweepIsDueOnceAnHour(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	f, now := New(dir), time.Now()
	if f.Due(now) {
		t.Error("a folder that nobody made is due")
	}
	if err := take(t, f, "k", nil).Close(); err != nil {
		t.Fatal(err)
	}
	if !f.Due(now) {
		t.Error("a folder that was never swept is not due")
	}
	must[Swept](t)(f.Sweep(t.Context(), now))
	if New(dir).Due(now.Add(50*time.Minute)) || !New(dir).Due(now.Add(61*time.Minute)) {
		t.Error("not once an hour")
	}
}

// A copy that was dropped leaves nothing, so a folder does not fill with locks.
func TestDroppedCopyLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	c := take(t, New(dir), "k", []byte("0"))
	if err := c.Drop(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left are %s", got)
	}
}

// Many who take, drop and sweep the same few copies at once never hold one together, although
// locks are removed: each finds the content that it wrote.
func TestLocksAreRemovedSafely(t *testing.T) {
	dir := t.TempDir()
	var owner [3]sync.Mutex
	var all sync.WaitGroup
	for worker := range 8 {
		f := New(dir) // a process of its own
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		all.Go(func() {
			for range 300 {
				if random.IntN(4) == 0 {
					if _, err := f.Sweep(t.Context(), time.Now().Add(2*LeftBehind)); err != nil {
						t.Error(err)
					}
					continue
				}
				k := random.IntN(len(owner))
				c, err := f.Take(fmt.Sprint("k", k))
				if err != nil {
					continue // in the hands of another one
				}
				if !owner[k].TryLock() {
					t.Error("two hold one copy")
					return
				}
				if err := c.Begin(200, exchange.Header{}, 1); err != nil {
					t.Error(err)
				}
				if _, err := c.Write([]byte{byte(worker)}); err != nil {
					t.Error(err)
				}
				if _, err := c.Finish(); err != nil {
					t.Error(err)
				}
				if got, err := os.ReadFile(c.path(".part")); err != nil || got[0] != byte(worker) {
					t.Errorf("%v %v", got, err)
				}
				if random.IntN(2) == 0 {
					if err := c.Drop(); err != nil {
						t.Error(err)
					}
				}
				owner[k].Unlock()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
