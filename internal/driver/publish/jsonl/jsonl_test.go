package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

var errDiskFull = errors.New("no space left on device")

// disk is a folder whose writes can be made to fail or wait.
type disk struct {
	dir string

	mu      sync.Mutex
	full    bool
	held    chan struct{} // closed: syncs pass
	reached chan struct{}
	once    *sync.Once
}

func newDisk(t *testing.T) *disk {
	d := &disk{dir: t.TempDir(), held: make(chan struct{})}
	close(d.held)
	return d
}

func (d *disk) set(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

func (d *disk) isFull() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.full
}

// failing writes half of what it should when the disk is full.
type failing struct {
	file
	disk *disk
}

func (f failing) Write(b []byte) (int, error) {
	if f.disk.isFull() {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, errDiskFull
	}
	return f.file.Write(b)
}

func (f failing) Sync() error {
	f.disk.mu.Lock()
	held, reached, once := f.disk.held, f.disk.reached, f.disk.once
	f.disk.mu.Unlock()
	if once != nil {
		once.Do(func() { close(reached) })
	}
	<-held
	if f.disk.isFull() {
		return errDiskFull
	}
	return f.file.Sync()
}

func (d *disk) open(t *testing.T, o Options) *Publisher {
	t.Helper()
	p, err := Open(d.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	create := p.create
	p.create = func(name string) (file, error) {
		if d.isFull() {
			return nil, errDiskFull
		}
		f, err := create(name)
		return failing{f, d}, err
	}
	return p
}

func (d *disk) received(t *testing.T) (out []outboxtest.Message) {
	t.Helper()
	files, err := listFiles(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			whole, is := bytes.CutSuffix(line, []byte("\n"))
			var e struct{ ID string }
			if !is || json.Unmarshal(whole, &e) != nil {
				t.Fatalf("%s has half an event: %q", name, line)
			}
			out = append(out, outboxtest.Message{ID: e.ID, Bytes: whole})
		}
	}
	return out
}

func TestPublisher(t *testing.T) {
	outboxtest.Run(t, func(t *testing.T) outboxtest.Broker {
		d := newDisk(t)
		return outboxtest.Broker{
			Open:     func(t *testing.T) outboxtest.Publisher { return d.open(t, Options{FileEvents: 100}) },
			Received: d.received,
			Down:     func(*testing.T) { d.set(true) },
			Up:       func(*testing.T) { d.set(false) },
			Hold: func(*testing.T) {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.held, d.reached, d.once = make(chan struct{}), make(chan struct{}), &sync.Once{}
			},
			Reached:         func(*testing.T) { <-d.reached },
			Free:            func(*testing.T) { close(d.held) },
			Uninterruptible: true,
		}
	})
}

func sealed(id string) event.Sealed {
	return event.Sealed{ID: id, Bytes: []byte(`{"id":"` + id + `"}`)}
}

func TestFilesAreClosedWhenTheyAreLargeEnough(t *testing.T) {
	for name, o := range map[string]Options{"by events": {FileEvents: 2}, "by bytes": {FileBytes: 20}} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			p := d.open(t, o)
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				if err := p.Publish(t.Context(), []event.Sealed{sealed(id)})[0]; err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := listFiles(d.dir)
			if err != nil || len(files) != 3 {
				t.Errorf("%v, %v", files, err)
			}
			if got := d.received(t); len(got) != 5 || got[4].ID != "e" {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestAFailedWriteLeavesNoHalfLine(t *testing.T) {
	d := newDisk(t)
	p := d.open(t, Options{})
	for _, full := range []bool{false, true, false, true, true, false} {
		d.set(full)
		if err := p.Publish(t.Context(), []event.Sealed{sealed("a"), sealed("b")})[1]; (err != nil) != full {
			t.Fatal(full, err)
		}
		d.received(t)
	}
	if got := d.received(t); len(got) != 6 {
		t.Errorf("%d events", len(got))
	}
	if files, _ := listFiles(d.dir); len(files) != 1 {
		t.Errorf("%v: the file could be cut, so it goes on", files)
	}
}

func TestTwoProcessesShareAFolder(t *testing.T) {
	d := newDisk(t)
	a, b := d.open(t, Options{}), d.open(t, Options{})
	for range 3 {
		for _, p := range []*Publisher{a, b} {
			if err := p.Publish(t.Context(), []event.Sealed{sealed("x")})[0]; err != nil {
				t.Fatal(err)
			}
		}
	}
	if files, _ := listFiles(d.dir); len(files) != 2 {
		t.Errorf("%v", files)
	}
	if got := d.received(t); len(got) != 6 {
		t.Errorf("%v", got)
	}
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "events")
	p, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), []event.Sealed{sealed("x")})[0]; err != nil {
		t.Fatal(err)
	}
	files, _ := listFiles(dir)
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// What is written to a file that was removed reaches nobody: such an event must not
// count as delivered. Whoever takes files away, or the folder, gets what comes in new ones.
func TestEventsDoNotGoToAFileThatWasTakenAway(t *testing.T) {
	elsewhere := t.TempDir()
	for name, take := range map[string]func(dir, file string) error{
		"removed":          func(_, file string) error { return os.Remove(file) },
		"moved":            func(_, file string) error { return os.Rename(file, filepath.Join(elsewhere, "taken.jsonl")) },
		"folder removed":   func(dir, _ string) error { return os.RemoveAll(dir) },
		"another in place": func(dir, _ string) error { return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			d := &disk{dir: filepath.Join(t.TempDir(), "events"), held: make(chan struct{})}
			close(d.held)
			p := d.open(t, Options{})
			if err := p.Publish(t.Context(), []event.Sealed{sealed("a")})[0]; err != nil {
				t.Fatal(err)
			}
			files, _ := listFiles(d.dir)
			if err := take(d.dir, files[0]); err != nil {
				t.Fatal(err)
			}
			if err := p.Publish(t.Context(), []event.Sealed{sealed("b")})[0]; err != nil {
				t.Fatal(err)
			}
			if got := d.received(t); len(got) != 1 || got[0].ID != "b" {
				t.Errorf("%v: b counts as delivered", got)
			}
		})
	}
}

// Taken away between the write and the answer: it is published again.
func TestAFileThatIsTakenAwayWhileItIsWritten(t *testing.T) {
	d := newDisk(t)
	p := d.open(t, Options{})
	d.mu.Lock()
	d.held, d.reached, d.once = make(chan struct{}), make(chan struct{}), &sync.Once{}
	d.mu.Unlock()
	answer := make(chan error)
	go func() { answer <- p.Publish(t.Context(), []event.Sealed{sealed("a")})[0] }()
	<-d.reached
	files, _ := listFiles(d.dir)
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	close(d.held)
	if err := <-answer; err == nil || outboxtest.IsRefusal(err) {
		t.Errorf("%v: nobody has the event", err)
	}
	if err := p.Publish(t.Context(), []event.Sealed{sealed("a")})[0]; err != nil || len(d.received(t)) != 1 {
		t.Error(err, d.received(t))
	}
}

// listFiles lists the files of a folder in the order of their names.
func listFiles(dir string) ([]string, error) {
	return filepath.Glob(filepath.Join(dir, "events-*.jsonl"))
}
