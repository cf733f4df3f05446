// Package jsonl publishes events into files, one event a line. A file is closed
// when it is large enough and the next one begun; a call returns when its lines are
// on the disk. Every process writes files of its own, so any number may share a
// folder.
//
// It must never leave half of an event before another one, and no name of a file
// comes from outside. After a power cut a file may end with half a line: what has no
// line end is no event, and is published again.
package jsonl

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/driver/durable"
)

// Options say when a file is large enough.
type Options struct {
	FileBytes  int64 // 0: 128 MB
	FileEvents int   // 0: by size only
	// Clock names files; nil is the machine's.
	Clock func() time.Time
}

// Publisher writes into a folder. It is safe for concurrent use.
type Publisher struct {
	dir     string
	root    *os.Root
	options Options
	process string

	mu     sync.Mutex
	file   file // nil between two files
	name   string
	begun  os.FileInfo // what stood under the name when the file was begun
	size   int64
	events int
	opened int
	buffer bytes.Buffer
	create func(name string) (file, error)
}

// file is what is used of an *os.File.
type file interface {
	Write([]byte) (int, error)
	Sync() error
	Truncate(int64) error
	Seek(offset int64, whence int) (int64, error)
	Close() error
}

const usualFileBytes = 128 << 20

// Open makes the folder if need be.
func Open(dir string, o Options) (*Publisher, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	if o.FileBytes == 0 {
		o.FileBytes = usualFileBytes
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	p := &Publisher{dir: dir, root: root, options: o, process: hex.EncodeToString(id[:])}
	p.create = func(name string) (file, error) {
		return p.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	return p, nil
}

func openFolder(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of events: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of events: %w", err)
	}
	return root, nil
}

// Publish appends the events and waits until the disk has them: all or none.
func (p *Publisher) Publish(ctx context.Context, events []event.Sealed) []error {
	answers := make([]error, len(events))
	if len(events) == 0 {
		return answers
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = p.appendLines(events)
	}
	for i := range answers {
		answers[i] = err
	}
	return answers
}

func (p *Publisher) appendLines(events []event.Sealed) error {
	p.buffer.Reset()
	for _, e := range events {
		p.buffer.Write(e.Bytes)
		p.buffer.WriteByte('\n')
	}
	if err := p.beginFile(); err != nil {
		return err
	}
	_, err := p.file.Write(p.buffer.Bytes())
	if err == nil {
		err = p.file.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write events: %w", err), p.takeBack())
	}
	if !p.fileStands() {
		return errors.Join(errTakenAway, p.endFile())
	}
	p.size, p.events = p.size+int64(p.buffer.Len()), p.events+len(events)
	if p.size >= p.options.FileBytes || p.options.FileEvents > 0 && p.events >= p.options.FileEvents {
		return p.endFile()
	}
	return nil
}

var errTakenAway = errors.New("the file of events was removed while it was written")

// fileStands reports whether the file is still where its readers look for it. A disk
// also accepts writes to a file that was removed, and no reader would ever see them.
func (p *Publisher) fileStands() bool {
	now, err := os.Lstat(filepath.Join(p.dir, p.name))
	return err == nil && os.SameFile(p.begun, now)
}

// beginFile opens the next file unless one is open that still stands. The folder is
// synced, so that a file with events cannot vanish from it.
func (p *Publisher) beginFile() error {
	if p.file != nil {
		if p.fileStands() {
			return nil
		}
		_ = p.endFile() // its readers have it, with all that was answered for
	}
	if err := p.findFolder(); err != nil {
		return err
	}
	p.opened++
	name := fmt.Sprintf("events-%s-%s-%06d.jsonl", p.options.Clock().UTC().Format("20060102T150405Z"), p.process, p.opened)
	f, err := p.create(name)
	if err != nil {
		return fmt.Errorf("begin a file of events: %w", err)
	}
	p.file, p.name, p.size, p.events = f, name, 0, 0
	if p.begun, err = p.root.Lstat(name); err != nil {
		return errors.Join(fmt.Errorf("begin a file of events: %w", err), p.endFile())
	}
	return durable.SyncRoot(p.root)
}

// findFolder makes the folder anew if it was removed or replaced.
func (p *Publisher) findFolder() error {
	here, err := os.Stat(p.dir)
	if err == nil {
		open, err := p.root.Stat(".")
		if err == nil && os.SameFile(here, open) {
			return nil
		}
	}
	root, err := openFolder(p.dir)
	if err != nil {
		return err
	}
	old := p.root
	p.root = root
	_ = old.Close()
	return nil
}

// takeBack removes what a failed write left. A file that cannot be cut is left
// alone from now on: the next event begins another one, and half a line at the end
// of this one is no event.
func (p *Publisher) takeBack() error {
	err := p.file.Truncate(p.size)
	if err == nil {
		_, err = p.file.Seek(p.size, 0)
	}
	if err != nil || p.size == 0 {
		return errors.Join(err, p.endFile())
	}
	return nil
}

func (p *Publisher) endFile() error {
	f := p.file
	p.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("end a file of events: %w", err)
	}
	return nil
}

// Close ends the file that is open.
func (p *Publisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	if p.file != nil {
		err = p.endFile()
	}
	return errors.Join(err, p.root.Close())
}
