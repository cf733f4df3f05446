package secrets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// Limited reads for files that a stranger may have written (D§5.30): commands that
// the installation lists, regular files below folders that it names. Whether a value
// may go to a host is asked before, see daemon.Guard.
type Limited struct{ Policy trust.Policy }

// Refuses says why a use is not allowed on this machine whoever agreed to it, or nil.
// It runs and reads nothing.
func (l Limited) Refuses(u trust.Use) *trust.Refusal {
	switch scheme, name := u.Ref.Split(); scheme {
	case "exec":
		if !l.Policy.AllowsCommand(name) {
			return &trust.Refusal{Use: u, Why: trust.NotListed}
		}
	case "file":
		if _, _, err := l.locateFile(name); errors.Is(err, errOutside) {
			return &trust.Refusal{Use: u, Why: trust.NotInside}
		}
	}
	return nil
}

// Absent reports that a reference surely leads to nothing. A command is not run to
// find out, and a file outside of the folders is not looked at.
func (l Limited) Absent(ref secret.Ref) bool {
	switch scheme, name := ref.Split(); scheme {
	case "env":
		return os.Getenv(name) == ""
	case "file":
		_, _, err := l.locateFile(name)
		return errors.Is(err, secret.ErrAbsent)
	}
	return false
}

// Lengths bounds how many bytes a value has, without reading a file or running a
// command; zero: there is none, or it is not looked at. Of a file the line break at
// its end does not count, if there is one.
func (l Limited) Lengths(ref secret.Ref) (least, most int64) {
	switch scheme, name := ref.Split(); scheme {
	case "env":
		n := int64(len(strings.TrimRight(os.Getenv(name), "\r\n")))
		return n, n
	case "file":
		folder, below, err := l.locateFile(name)
		if err != nil {
			return 0, 0
		}
		if info, err := os.Stat(filepath.Join(folder, below)); err == nil && info.Mode().IsRegular() {
			return max(0, info.Size()-1), info.Size()
		}
	}
	return 0, 0
}

// errLines: a file of several lines is not a key, and would be sent whole.
var errLines = errors.New("it has a line break inside, which a value that is sent must not have: is it the right one?")

// Reveal finds the value of a reference for a purpose, as System.Reveal does. What
// is not allowed is a trust.Refusal.
func (l Limited) Reveal(ctx context.Context, ref secret.Ref, to secret.Purpose) (secret.Text, error) {
	u := trust.Use{Ref: trust.OfSecret(ref), Host: to.Host}
	if refused := l.Refuses(u); refused != nil {
		return secret.Text{}, refused
	}
	scheme, name := ref.Split()
	text, err := "", error(nil)
	switch scheme {
	case "env":
		text = os.Getenv(name)
	case "file":
		text, err = readUntil(ctx, func() (string, error) { return l.fromFile(u, name) })
	case "exec":
		text, err = fromCommand(ctx, name, l.childEnvironment())
	default:
		err = errors.New("unknown kind of reference")
	}
	value, err := makeText(ref, text, err)
	if err == nil && !to.Signs && strings.ContainsAny(value.Reveal(), "\r\n") {
		return secret.Text{}, fmt.Errorf("%s: %w", ref, errLines)
	}
	return value, err
}

// childEnvironment returns what a command gets: a small part of ours. The rest may
// hold secrets that are none of its business.
func (l Limited) childEnvironment() []string {
	out := []string{} // not nil, which would mean all of it
	for _, name := range append(trust.UsualEnvironment(), l.Policy.Environment...) {
		if value, set := os.LookupEnv(name); set {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// allowedFolders returns those below which files may be read.
func (l Limited) allowedFolders() []string {
	out := append([]string{trust.UsualFolder}, l.Policy.Folders...)
	if credentials := os.Getenv("CREDENTIALS_DIRECTORY"); filepath.IsAbs(credentials) { // of a systemd service
		out = append(out, credentials)
	}
	return out
}

// errOutside: the file is not below an allowed folder.
var errOutside = errors.New(string(trust.NotInside))

// locateFile finds the allowed folder a file lies below, and its name from there, with
// all links followed: a link inside that leads outside is outside. A file that is
// not there is secret.ErrAbsent, where it would be allowed.
func (l Limited) locateFile(name string) (folder, below string, err error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", "", err
	}
	whole, missing := filepath.EvalSymlinks(path)
	if missing != nil {
		whole = path
	}
	for _, folder := range l.allowedFolders() {
		if missing == nil {
			if folder, err = filepath.EvalSymlinks(folder); err != nil {
				continue
			}
		}
		below, err := filepath.Rel(folder, whole)
		if err != nil || below == "." || !filepath.IsLocal(below) {
			continue
		}
		if errors.Is(missing, fs.ErrNotExist) {
			return "", "", secret.ErrAbsent
		}
		return folder, below, missing
	}
	return "", "", errOutside
}

// fromFile reads a regular file. It is opened from its folder, so that a link which
// is exchanged meanwhile leads nowhere else, and without waiting for whoever writes
// into a pipe.
func (l Limited) fromFile(u trust.Use, name string) (string, error) {
	folder, below, err := l.locateFile(name)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	file, err := root.OpenFile(below, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &trust.Refusal{Use: u, Why: trust.NotRegular}
	}
	return readAll(file)
}
