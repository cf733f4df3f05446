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
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// System reads from this process's environment and machine.
type System struct{}

// longest a command may take to print a secret.
const commandTimeout = 10 * time.Second

// Reveal finds the value of a reference. A variable that is unset or empty, a
// file that does not exist and empty output are secret.ErrAbsent.
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
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", secret.ErrAbsent
	}
	return string(text), err
}

// fromCommand runs a command without a shell: words are separated by blanks.
// What it prints on standard error may hold the secret and is not repeated.
func fromCommand(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	words := strings.Fields(line)
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("the command ended with code %d", failed.ExitCode())
	}
	return string(out), err
}
