package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/durable"
	"github.com/patra-ingest/patra/internal/driver/filelock"
	"github.com/patra-ingest/patra/internal/pause"
)

// Rotation is a refresh token in a file that is about to be exchanged for another. From
// BeginRotation until Close no other process of this machine begins one of the same file.
type Rotation struct {
	Token  secret.Text // the newest one that was kept
	ref    secret.Ref
	root   *os.Root
	name   string   // of the file, below the root
	beside *os.File // where the next one is written first; held by this process
	mode   fs.FileMode
}

// next is the ending of the file beside: it becomes the file itself by a rename.
const next = ".new"

// reserved is how much room is taken before a token is spent: one that could not be written
// would be lost.
const reserved = 8 << 10

// lockWait is how long to wait before looking again whether another process is done.
const lockWait = 50 * time.Millisecond

// BeginRotation reads the token and makes sure that the next one can be written, before
// this one is spent. What a process that was killed had written beside, and not yet put in
// its place, is put there now.
func (l Limited) BeginRotation(ctx context.Context, ref secret.Ref) (*Rotation, error) {
	scheme, name := ref.Split()
	if scheme != "file" {
		return nil, fmt.Errorf("%s: only a file can keep a refresh token that rotates", ref)
	}
	folder, below, err := l.locateFile(name)
	switch {
	case errors.Is(err, errOutside):
		return nil, &trust.Refusal{Use: trust.Use{Ref: trust.OfSecret(ref)}, Why: trust.NotInside}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	r := &Rotation{ref: ref, root: root, name: below}
	if err := r.begin(ctx, l); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Rotation) begin(ctx context.Context, l Limited) (err error) {
	for recovered := true; recovered; {
		if err := r.waitBeside(ctx); err != nil {
			return err
		}
		if recovered, err = r.recoverBeside(); err != nil {
			return r.unwritable(err)
		}
		if recovered { // what was beside is in its place now, and whoever waits may come first
			_ = r.beside.Close()
			r.beside = nil
		}
	}
	if r.Token, err = l.Reveal(ctx, r.ref, secret.Purpose{}); err != nil {
		return err
	}
	info, err := r.root.Stat(r.name)
	if err != nil {
		return fmt.Errorf("%s: %w", r.ref, err)
	}
	r.mode = info.Mode().Perm()
	if _, err := r.beside.WriteAt(make([]byte, reserved), 0); err != nil {
		return r.unwritable(err)
	}
	return r.unwritable(errors.Join(r.beside.Sync(), r.syncFolder()))
}

// waitBeside holds the file beside, once no other process does.
func (r *Rotation) waitBeside(ctx context.Context) (err error) {
	for {
		if r.beside, err = r.holdBeside(); err != nil || r.beside != nil {
			return r.unwritable(err)
		}
		if err := pause.For(ctx, lockWait); err != nil {
			return inTrouble{err}
		}
	}
}

// unwritable says what a person has to change. The token was not spent.
func (r *Rotation) unwritable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: the next refresh token could not be kept beside it, so this one was not spent (let this program write into the folder, and see that the disk has room): %w", r.ref, plainCause(err))
}

// plainCause leaves out the name of the file beside: it is not one that people know.
func plainCause(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// holdBeside opens the file beside and takes it for this process alone; nil while another
// has it.
func (r *Rotation) holdBeside() (*os.File, error) {
	file, err := r.root.OpenFile(r.name+next, os.O_RDWR|os.O_CREATE|nonblock, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := filelock.Take(file)
	if err == nil && held && filelock.StandsAs(r.root, r.name+next, file) {
		return file, nil
	}
	_ = file.Close() // another process has it, or has put it in its place meanwhile
	return nil, err
}

// recoverBeside puts a token in its place that a process wrote beside before it was killed. If a
// person put another one there since, that one counts.
func (r *Rotation) recoverBeside() (recovered bool, err error) {
	token, whole := r.leftBeside()
	if !whole {
		return false, nil
	}
	written, err := r.beside.Stat()
	if err != nil {
		return false, err
	}
	old, err := r.root.Stat(r.name)
	if err != nil || old.ModTime().After(written.ModTime()) {
		return false, err
	}
	r.mode = old.Mode().Perm()
	return true, r.Keep(secret.New(token))
}

// wholeToken finds a token that was written to its end: its line break stands there, and
// behind it nothing but reserved room.
func wholeToken(content []byte) (string, bool) {
	token, rest, ended := bytes.Cut(content, []byte("\n"))
	if !ended || len(token) == 0 || len(bytes.Trim(rest, "\x00")) > 0 || bytes.ContainsFunc(token, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", false
	}
	return string(token), true
}

// Keep writes the next token beside, durably, and puts it in the place of the one that was
// spent. Only then may it be used. If the file has another one by now, which a person put
// there, that one stays.
func (r *Rotation) Keep(token secret.Text) error {
	text := token.Reveal()
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) || len(text) >= reserved {
		return fmt.Errorf("%s: the next refresh token has characters or a length that no token has", r.ref)
	}
	if now, err := r.root.ReadFile(r.name); err == nil && !r.Token.IsZero() && strings.TrimRight(string(now), "\r\n") != r.Token.Reveal() {
		return nil
	}
	if _, err := r.beside.WriteAt([]byte(text+"\n"), 0); err != nil {
		return r.unkept(err)
	}
	if err := r.beside.Sync(); err != nil {
		return r.unkept(err)
	}
	crash.At(crash.Beside)
	if err := r.beside.Truncate(int64(len(text)) + 1); err != nil {
		return r.unkept(err)
	}
	if err := r.beside.Chmod(r.mode); err != nil {
		return r.unkept(err)
	}
	if err := r.beside.Sync(); err != nil {
		return r.unkept(err)
	}
	if err := r.root.Rename(r.name+next, r.name); err != nil {
		return r.unkept(err)
	}
	crash.At(crash.Rotated)
	if err := r.syncFolder(); err != nil {
		return r.unkept(err)
	}
	return nil
}

func (r *Rotation) unkept(err error) error {
	return fmt.Errorf("%s: the next refresh token could not be written into its place: %w", r.ref, plainCause(err))
}

// syncFolder makes the names in the folder of the file durable.
func (r *Rotation) syncFolder() error {
	folder, err := r.root.OpenRoot(filepath.Dir(r.name))
	if err != nil {
		return err
	}
	return errors.Join(durable.SyncRoot(folder), folder.Close())
}

// Close lets the next process begin. What was reserved and not needed is removed.
func (r *Rotation) Close() {
	if r.beside != nil {
		if _, whole := r.leftBeside(); !whole && filelock.StandsAs(r.root, r.name+next, r.beside) {
			_ = r.root.Remove(r.name + next) // while it is held: whoever opened it meanwhile finds out
		}
		_ = r.beside.Close() // what counts was synced
	}
	_ = r.root.Close()
}

// leftBeside reads what stands beside, so that a token which could not be put in its place
// is left for the next process.
func (r *Rotation) leftBeside() (string, bool) {
	content := make([]byte, reserved)
	n, _ := r.beside.ReadAt(content, 0)
	return wholeToken(content[:n])
}
