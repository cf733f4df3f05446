package exportfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/patra-ingest/patra/internal/core/export"
)

// hold keeps other exports away from a target until it is released.
type hold struct{ release func() error }

var errHeld = errors.New("held by another process")

// folderLock is locked while an export goes into a folder.
const folderLock = ".export.lock"

// lockName returns what an export into a target locks. A single file that is called like
// one of a folder shares its lock: both would write it.
func (t Target) lockName() string {
	if t.Single == "" || export.IsName(t.Single) {
		return folderLock
	}
	return "." + t.Single + ".lock"
}

func (t Target) fullPath() string { return filepath.Join(t.Dir, t.Single) }

// claimTarget takes a target for one export.
func (t Target) claimTarget(root *os.Root) (*hold, error) {
	held, err := lockFile(root, t.Dir, t.lockName())
	if errors.Is(err, errHeld) {
		return nil, export.Conflict("another export writes to %s now (it holds %s): wait until it has ended, or name another target",
			t.fullPath(), filepath.Join(t.Dir, t.lockName()))
	}
	if err != nil {
		return nil, fmt.Errorf("export: lock %s: %w", t.fullPath(), err)
	}
	return held, nil
}

// nameInProgress returns the name of a file on its way.
func nameInProgress(name, attempt string) string { return "." + name + "." + attempt + partial }

// temporaryName takes such a name apart again.
var temporaryName = regexp.MustCompile(`^\.(.+)\.[A-Z2-7]{8}\.partial$`)

// isLeftover reports whether a killed export to this target has left a file of this name.
// Files of exports to other targets in the same folder are not leftovers.
func (t Target) isLeftover(name string) bool {
	parts := temporaryName.FindStringSubmatch(name)
	switch {
	case parts == nil:
		return name == t.lockName()
	case t.Single != "":
		return parts[1] == t.Single || parts[1] == t.Single+manifestEnding
	}
	return parts[1] == export.ManifestName || export.IsName(parts[1])
}

// sweepLeftovers removes what exports that were killed have left. Only who holds the target
// may: then nobody else is writing there.
func (t Target) sweepLeftovers(root *os.Root) (swept []string, err error) {
	names, err := listNames(root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == t.lockName() || !t.isLeftover(name) {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return swept, fmt.Errorf("export: %w", err)
		}
		swept = append(swept, name)
	}
	return swept, nil
}
