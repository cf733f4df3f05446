// Package filecopy keeps copies of files that a source serves, while they are read: it takes
// them in part by part, goes on with a part that is there, and unpacks a whole one as a stream.
//
// Names come from us and never from the upstream, so nothing that a server or a packed file
// says leads out of the folder. It never says that a copy is whole before its last byte is on
// the disk.
package filecopy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
)

// Folder is where copies lie. It is safe for concurrent use.
type Folder struct {
	dir  string
	mu   sync.Mutex
	held map[string]bool
}

// New returns a folder, which is made when the first file comes.
func New(dir string) *Folder { return &Folder{dir: dir, held: map[string]bool{}} }

// Take takes the copy of a file in hand, for this process alone. Close must be called.
func (f *Folder) Take(key string) (*Copy, error) {
	if key == "" || filepath.Base(key) != key {
		return nil, fault.Newf(fault.Internal, "%q is no name of a copy", key)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[key] {
		return nil, heldElsewhere(f.dir)
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of files: %w", err)
	}
	release, err := lockFile(filepath.Join(f.dir, key+".lock"))
	if err != nil {
		return nil, err
	}
	c := &Copy{folder: f, key: key, release: release}
	f.held[key] = true
	c.readNote()
	return c, nil
}

// heldElsewhere is for a copy that another worker has in hand: one that stood still, and will
// notice that its task is not its own any more.
func heldElsewhere(dir string) error {
	return fault.Newf(fault.Network, "the copy of the file in %s is still held by another worker, which will release it soon", dir)
}

func (f *Folder) giveBack(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.held, key)
}

// note is what is kept beside a copy.
type note struct {
	Validator files.Validator `json:"validator,omitempty"`
	Whole     bool            `json:"whole,omitempty"`
	files.Copy
}

// Copy is a copy of a file, or what is there of it.
type Copy struct {
	folder  *Folder
	key     string
	release func() error
	note    note
	out     *os.File
	have    int64
}

func (c *Copy) path(end string) string { return filepath.Join(c.folder.dir, c.key+end) }

// readNote finds out what is there. What cannot be read is as good as nothing.
func (c *Copy) readNote() {
	text, err := os.ReadFile(c.path(".json"))
	if err != nil || json.Unmarshal(text, &c.note) != nil {
		c.note = note{}
		return
	}
	info, err := os.Stat(c.path(".part"))
	if err != nil || c.note.Whole && info.Size() != c.note.Size {
		c.note = note{}
		return
	}
	c.have = info.Size()
}

func (c *Copy) writeNote() error {
	text, err := json.Marshal(c.note)
	if err != nil {
		return err
	}
	beside := c.path(".json.new")
	if err := os.WriteFile(beside, text, 0o600); err != nil {
		return err
	}
	return os.Rename(beside, c.path(".json"))
}

// Whole returns what is known of the copy, if all of it is there.
func (c *Copy) Whole() (files.Copy, files.Validator, bool) {
	return c.note.Copy, c.note.Validator, c.note.Whole
}

// Have returns how many bytes are there, and of what: a server that still has the same may
// send the rest.
func (c *Copy) Have() (int64, files.Validator) {
	if c.note.Whole {
		return 0, ""
	}
	return c.have, c.note.Validator
}

// Drop removes the copy.
func (c *Copy) Drop() error {
	err := c.closeOut()
	for _, end := range []string{".json", ".part"} {
		if failed := os.Remove(c.path(end)); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	c.note, c.have = note{}, 0
	return err
}

func (c *Copy) closeOut() error {
	if c.out == nil {
		return nil
	}
	err := c.out.Close()
	c.out = nil
	return err
}

// Close lets go of the copy, which stays where it is. Of one that was dropped nothing stays.
func (c *Copy) Close() error {
	if c.release == nil {
		return nil
	}
	err := errors.Join(c.closeOut(), c.leaveLock(), c.release())
	c.release = nil
	c.folder.giveBack(c.key)
	return err
}

// leaveLock removes the lock where nothing is left to be locked, and else notes until when the
// copy was in hand.
func (c *Copy) leaveLock() error {
	lock := c.path(".lock")
	if _, err := os.Stat(c.path(".part")); errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(lock)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	now := time.Now()
	if err := os.Chtimes(lock, now, now); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
