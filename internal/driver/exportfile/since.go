package exportfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/export"
)

// KeepSince refuses a target whose export would replace the one that since names, a folder,
// a file or a manifest: what changed since would take the place of all records, and those
// that did not change would be in no file. out is the target as it was named, ending that of
// its files. An empty since, or a cursor, names no file, and nothing is refused.
func (t Target) KeepSince(since, out, ending string) error {
	if since == "" {
		return nil
	}
	m, err := ReadManifest(since)
	if err != nil || !t.replaces(since, m) {
		return nil
	}
	return export.Conflict("--since names the export that is at --out %s: what changed since would replace its %d records, with --force too. Name another place for the changes: --out %s --since %s. Only --format sqlite brings a file up to date where it is; without --since, --force writes all records anew",
		out, m.Records, t.nameBeside(out, ending), since)
}

// replaces reports whether an export to the target writes over a file of another export, by
// whatever path or link that one was named.
func (t Target) replaces(since string, m export.Manifest) bool {
	dir, manifest := splitManifest(since)
	names := []string{manifest}
	for _, f := range m.Files {
		if f.Name == filepath.Base(f.Name) { // a manifest is written by others
			names = append(names, f.Name)
		}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		there := filepath.Join(dir, name)
		if t.Single != "" {
			return isSameFile(there, t.fullPath()) || isSameFile(there, t.fullPath()+manifestEnding)
		}
		return (name == export.ManifestName || export.IsName(name)) && isSameFile(there, filepath.Join(t.Dir, name))
	})
}

func isSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// nameBeside returns a name beside out that nothing has yet.
func (t Target) nameBeside(out, ending string) string {
	base := filepath.Clean(out)
	if t.Single == "" {
		ending = ""
	}
	switch base = strings.TrimSuffix(base, ending); filepath.Base(base) {
	case ".", "..", string(filepath.Separator):
		base = "changes"
	}
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s-%d%s", base, n, ending)
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}
