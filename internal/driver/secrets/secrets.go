// Package secrets reads the values that references lead to: environment variables,
// files and the output of commands. System reads whatever the person who runs the
// program names on the command line; Limited reads for source and events files,
// within what the installation allows.
//
// Values are read when a request needs them and never kept (I10); errors name
// the reference, never the value (I12).
package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// System reads from this process's environment and machine. It is for references
// that the operator typed, such as that of the database.
type System struct{}

const (
	// commandTimeout is how long a command may take to print a secret.
	commandTimeout = 10 * time.Second
	// lastWords is how long a command that was stopped may keep its output open: a
	// child of it could hold us for ever.
	lastWords = time.Second
	// most is what a secret may have. More is a mistake, such as a wrong file.
	most = 64 << 10
)

var errTooLong = fmt.Errorf("it holds more than %d bytes, which is no secret", most)

// Reveal finds the value of a reference. A variable that is unset or empty, a
// file that does not exist and empty output are secret.ErrAbsent; a command that
// failed or took too long is secret.ErrTrouble.
func (System) Reveal(ctx context.Context, ref secret.Ref) (secret.Text, error) {
	scheme, name := ref.Split()
	text, err := "", error(nil)
	switch scheme {
	case "env":
		text = os.Getenv(name)
	case "file":
		text, err = readUntil(ctx, func() (string, error) { return fromFile(name) })
	case "exec":
		text, err = fromCommand(ctx, name, os.Environ())
	default:
		err = errors.New("unknown kind of reference")
	}
	return makeText(ref, text, err)
}

// makeText returns the value behind a reference, without the line breaks at its end.
func makeText(ref secret.Ref, text string, err error) (secret.Text, error) {
	text = strings.TrimRight(text, "\r\n")
	if err == nil && text == "" {
		err = secret.ErrAbsent
	}
	if err != nil {
		return secret.Text{}, fmt.Errorf("%s: %w", ref, err)
	}
	return secret.New(text), nil
}

// readUntil reads a file under the context: a pipe without a writer, or a network
// drive that does not answer, must not hold a worker. The reading itself cannot be
// ended and stays behind.
func readUntil(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", inTrouble{context.Cause(ctx)}
	}
}

func fromFile(name string) (string, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", secret.ErrAbsent
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	return readAll(file)
}

// readAll reads as much as a secret may have.
func readAll(file io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && len(text) > most {
		err = errTooLong
	}
	return string(text), err
}

// fromCommand runs a command without a shell: words are separated by blanks.
// What it prints on standard error may hold the secret and is not repeated.
func fromCommand(ctx context.Context, line string, environment []string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, commandTimeout, fmt.Errorf("the command took longer than %v", commandTimeout))
	defer cancel()
	words := strings.Fields(line)
	command := exec.CommandContext(limited, words[0], words[1:]...)
	command.WaitDelay, command.Env = lastWords, environment
	out := &capped{}
	command.Stdout = out
	err := command.Run()
	var failed *exec.ExitError
	switch {
	case limited.Err() != nil:
		return "", inTrouble{context.Cause(limited)}
	case out.over:
		return "", errTooLong
	case errors.As(err, &failed):
		return "", inTrouble{fmt.Errorf("the command ended with code %d", failed.ExitCode())}
	}
	return out.text.String(), err
}

// inTrouble is an error that may be gone next time. What it says is its cause.
type inTrouble struct{ error }

func (t inTrouble) Unwrap() []error { return []error{t.error, secret.ErrTrouble} }

// capped takes as much as a secret may have and ends the command at more.
type capped struct {
	text strings.Builder
	over bool
}

func (c *capped) Write(part []byte) (int, error) {
	if c.text.Len()+len(part) > most {
		c.over = true
		return 0, errTooLong
	}
	return c.text.Write(part)
}
