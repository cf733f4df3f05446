// Package exportfile puts exports on a disk or into a pipe: files under names that
// we make ourselves, each under a temporary name until it is whole, and a manifest
// that comes last. It reads them back to check them.
//
// It never opens anything outside the folder it was given, whatever a name or a link
// in it says (A25), and never leaves a manifest beside files that are not whole.
package exportfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/driver/durable"
)

// mostOpen is how many files are open at once, however many there are.
const mostOpen = 64

// partial ends the names of files that are not whole.
const partial = ".partial"

// manifestEnding is of the manifest beside a single file.
const manifestEnding = ".manifest.json"

// Folder is where one export goes.
type Folder struct {
	root     *os.Root
	packing  export.Packing
	manifest string
	attempt  string // tells the temporary names of two exports apart
	files    map[string]*file
	open     []*file // the one that was written to last is last
	sealed   bool
	held     *hold
	swept    []string
}

// Swept returns the files that exports which were killed had left, and that were
// removed.
func (f *Folder) Swept() []string { return f.swept }

// Free reports whether a target may be written to: a folder that is empty or not
// there yet, or a file that is not there. force allows what is there. What an export
// that was killed has left is in nobody's way.
func Free(t Target, force bool) error {
	if force {
		return nil
	}
	if t.Single != "" {
		for _, name := range []string{t.Single, t.Single + manifestEnding} {
			if _, err := os.Lstat(filepath.Join(t.Dir, name)); err == nil {
				return export.Conflict("%s is there already: name another file, or add --force to replace it", filepath.Join(t.Dir, name))
			}
		}
		return nil
	}
	entries, err := os.ReadDir(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for _, entry := range entries {
		if !t.isLeftover(entry.Name()) {
			return export.Conflict("%s is not empty, it has %q: name another folder, or add --force to replace an export in it", t.Dir, entry.Name())
		}
	}
	return nil
}

// Create begins an export. Until it is closed, no other one can begin there. What
// killed ones have left is removed; with force, also a whole one, its manifest before
// all else.
func Create(t Target, p export.Packing, force bool) (*Folder, error) {
	if err := Free(t, force); err != nil { // before anything is written there
		return nil, err
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	held, err := t.claimTarget(root)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	f := &Folder{root: root, held: held, packing: p, manifest: export.ManifestName, attempt: rand.Text()[:8], files: map[string]*file{}}
	if t.Single != "" {
		f.manifest = t.Single + manifestEnding
	}
	if err := f.prepareTarget(t, force); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepareTarget makes room, once no other export can begin there.
func (f *Folder) prepareTarget(t Target, force bool) (err error) {
	if err := Free(t, force); err != nil {
		return err
	}
	if f.swept, err = t.sweepLeftovers(f.root); err != nil || !force {
		return err
	}
	return f.clearOld(t.Single)
}

func (f *Folder) clearOld(single string) error {
	if err := f.root.Remove(f.manifest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export: %w", err)
	}
	if single != "" {
		return nil // it is replaced by a rename
	}
	names, err := listNames(f.root)
	if err != nil {
		return err
	}
	for _, name := range names {
		if export.IsName(name) {
			if err := f.root.Remove(name); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
	}
	return nil
}

func listNames(root *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Append adds lines to a file.
func (f *Folder) Append(name string, lines []byte) error {
	one := f.files[name]
	if one == nil {
		one = newFile(name, nameInProgress(name, f.attempt))
		f.files[name] = one
	}
	if err := f.openForUse(one); err != nil {
		return fmt.Errorf("export %s: %w", name, err)
	}
	if _, err := one.out.Write(lines); err != nil {
		return fmt.Errorf("export %s: %w", name, err)
	}
	return nil
}

// openForUse opens a file, and closes the one that was not used for longest if too many
// are open.
func (f *Folder) openForUse(one *file) error {
	if one.disk != nil {
		if i := slices.Index(f.open, one); i != len(f.open)-1 {
			f.open = append(slices.Delete(f.open, i, i+1), one)
		}
		return nil
	}
	if len(f.open) == mostOpen {
		if err := f.open[0].closeForNow(); err != nil {
			return err
		}
		f.open = slices.Delete(f.open, 0, 1)
	}
	if err := one.openAgain(f.root, f.packing); err != nil {
		return err
	}
	f.open = append(f.open, one)
	return nil
}

// Seal makes all files durable under their names.
func (f *Folder) Seal() (map[string]export.Sealed, error) {
	out := map[string]export.Sealed{}
	for _, one := range f.files {
		if err := one.makeDurable(f.root); err != nil {
			return nil, fmt.Errorf("export %s: %w", one.name, err)
		}
		out[one.name] = one.sealedSum()
	}
	f.open = nil
	for _, one := range f.files {
		if err := f.root.Rename(one.temp, one.name); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
	}
	f.sealed = true
	return out, f.syncFolder()
}

// Finish writes the manifest: from now on the export is whole.
func (f *Folder) Finish(manifest []byte) error {
	temp := nameInProgress(f.manifest, f.attempt)
	disk, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	_, err = disk.Write(manifest)
	if err == nil {
		err = disk.Sync()
	}
	if err = errors.Join(err, disk.Close()); err == nil {
		err = f.root.Rename(temp, f.manifest)
	}
	if err != nil {
		return fmt.Errorf("export: %w", errors.Join(err, f.root.Remove(temp)))
	}
	return f.syncFolder()
}

func (f *Folder) syncFolder() error {
	if err := durable.SyncRoot(f.root); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// Close ends an export and lets others begin. What is not whole is removed.
func (f *Folder) Close() error {
	var errs []error
	if !f.sealed {
		errs = append(errs, f.discardFiles())
	}
	if err := f.held.release(); err != nil {
		errs = append(errs, fmt.Errorf("export: unlock: %w", err))
	}
	return errors.Join(append(errs, f.root.Close())...)
}

func (f *Folder) discardFiles() error {
	for _, one := range f.files {
		if one.disk != nil {
			_ = one.disk.Close() // it is thrown away
		}
		if err := f.root.Remove(one.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}
