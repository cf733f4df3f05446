// Package secrets reads the values that references in source files lead to:
// environment variables, files and the output of commands.
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

// System reads from this process's environment and machine.
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
		text, err = fromFile(name)
	case "exec":
		text, err = fromCommand(ctx, name)
	default:
		err = errors.New("unknown kind of reference")
	}
	text = strings.TrimRight(text, "\r\n")
	if err == nil && text == "" {
		err = secret.ErrAbsent
	}
	if err != nil {
		return secret.Text{}, fmt.Errorf("%s: %w", ref, err)
	}
	return secret.New(text), nil
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
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && len(text) > most {
		err = errTooLong
	}
	return string(text), err
}

// fromCommand runs a command without a shell: words are separated by blanks.
// What it prints on standard error may hold the secret and is not repeated.
func fromCommand(ctx context.Context, line string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, commandTimeout, fmt.Errorf("the command took longer than %v", commandTimeout))
	defer cancel()
	words := strings.Fields(line)
	command := exec.CommandContext(limited, words[0], words[1:]...)
	command.WaitDelay = lastWords
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
