// Package installation reads and writes the files that belong to the person who
// runs the program on this machine: patra.yaml, and the file of what they agreed
// to (D§5.30).
//
// It never takes such a file from a place that a stranger can fill, such as the
// working directory: a folder that is unpacked there together with a database
// must not agree to anything on its own. Nor does it take one that others may write.
package installation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// FileName is how the configuration is called in the folders it is looked for in.
const FileName = "patra.yaml"

// systemFolder is where the configuration of a whole machine lies.
const systemFolder = "/etc/patra"

// maxBytes bounds files that a person writes by hand.
const maxBytes = 1 << 20

// Found is the configuration of this installation and where it stands.
type Found struct {
	config.Config
	File string // empty: there is none
}

// Read finds and reads the configuration. A file that was named must be there.
// Without a name the user's own folder is looked at, then that of the machine;
// the first file found counts alone.
func Read(named string) (Found, error) {
	if named != "" {
		return readNamed(named)
	}
	for _, path := range Places() {
		found, err := readNamed(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return found, err
	}
	return Found{}, nil
}

// Places returns where the configuration is looked for, the first first.
func Places() (out []string) {
	if folder, err := userFolder(); err == nil {
		out = append(out, filepath.Join(folder, FileName))
	}
	return append(out, filepath.Join(systemFolder, FileName))
}

// userFolder returns where the user's own files lie.
func userFolder() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "patra"), nil
}

func readNamed(path string) (Found, error) {
	text, err := readOwn(path, othersMayRead)
	if err != nil {
		return Found{}, fmt.Errorf("%w: configuration: %w", fault.ErrInvalid, err)
	}
	c, err := config.Decode(path, text)
	if err != nil {
		return Found{}, fmt.Errorf("%w: configuration:\n%w", fault.ErrInvalid, err)
	}
	return Found{Config: *c, File: path}, nil
}

// What others than the owner may do with a file.
const (
	othersMayRead fs.FileMode = 0o022 // and not write
	ownerOnly     fs.FileMode = 0o077 // nothing
)

// checkFolders refuses a file in a folder where somebody else could put another one in
// its place: in any folder above it, as it is named and as it is with all links followed.
func checkFolders(path string) error {
	named, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(named)
	if errors.Is(err, fs.ErrNotExist) { // it is about to be written
		real, err = filepath.EvalSymlinks(filepath.Dir(named))
		real = filepath.Join(real, filepath.Base(named))
	}
	if err != nil {
		return err
	}
	for _, whole := range slices.Compact([]string{named, real}) {
		for below := whole; below != filepath.Dir(below); below = filepath.Dir(below) {
			if err := checkFolder(path, below); err != nil {
				return err
			}
		}
	}
	return nil
}

// readOwn reads a file whose word counts. Whoever may write it decides what the
// program may do, so that must be the user or the administrator.
func readOwn(path string, forbidden fs.FileMode) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxBytes)
	}
	if err := checkOwner(path, info, forbidden); err != nil {
		return nil, err
	}
	if err := checkFolders(path); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, maxBytes))
}
