package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// presence notices that the file was removed or replaced while it is in use. The
// operating system lets us go on writing into a file that nobody can find any more,
// and nothing fails: without this a run would end well and leave nothing behind.
type presence struct {
	path   string
	log    string // SQLite keeps it beside the file, also where the path is a link
	opened os.FileInfo
}

// newPresence remembers which file was opened.
func newPresence(path string) (*presence, error) {
	opened, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return &presence{path, target + "-wal", opened}, nil
}

// checkFile compares the file at the path with the one that was opened. Inside a
// transaction the write-ahead log has to be there too: what is committed goes there
// first.
func (p *presence) checkFile(inTransaction bool) error {
	now, err := os.Stat(p.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return p.lostFile("was removed")
	case err != nil:
		return fmt.Errorf("look for the database file: %w", err)
	case !os.SameFile(p.opened, now):
		return p.lostFile("was replaced by another file")
	}
	if !inTransaction {
		return nil
	}
	if _, err := os.Stat(p.log); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s was removed while this process used it: changes that were only there are gone; end all processes that use the database, then `patra db check` tells whether it is whole",
			fault.ErrLost, p.log)
	}
	return nil
}

func (p *presence) lostFile(how string) error {
	return fmt.Errorf("%w: %s %s while this process used it: what it wrote since then is not there; put the file back (or a copy of it) and run the command again, it continues with what is missing",
		fault.ErrLost, p.path, how)
}
