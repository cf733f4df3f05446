package installation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// agreedName is the file of what the user agreed to, beside their configuration.
const agreedName = "trust.jsonl"

// Agreed is the file of what the user of this machine agreed to, for databases
// that are files: such a database may come from somebody else, so its tables
// have no say in it. Each act is one line; the last one about a use counts.
type Agreed struct{ path string }

// OpenAgreed names the file of the user that runs the program.
func OpenAgreed() (Agreed, error) {
	folder, err := userFolder()
	if err != nil {
		return Agreed{}, err
	}
	return Agreed{filepath.Join(folder, agreedName)}, nil
}

// Path returns where the file lies, whether it is there or not.
func (a Agreed) Path() string { return a.path }

// line is one act.
type line struct {
	trust.Consent
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// Consents lists what is agreed to now. A file that is not there agrees to nothing.
func (a Agreed) Consents() ([]trust.Consent, error) {
	if a.path == "" {
		return nil, nil
	}
	text, err := readOwn(a.path, ownerOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: what was agreed to cannot be read: %w", fault.ErrInvalid, err)
	}
	var out []trust.Consent
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%w: %s:%d is not what patra writes there: remove the line", fault.ErrInvalid, a.path, n)
		}
		out = slices.DeleteFunc(out, func(c trust.Consent) bool { return c.Use == l.Use })
		if !l.Withdrawn {
			out = append(out, l.Consent)
		}
	}
	return out, lines.Err()
}

// Agree adds consents; Withdraw takes them back.
func (a Agreed) Agree(uses []trust.Use, by trust.By, at time.Time) error {
	return a.write(uses, by, at, false)
}

// Withdraw takes consents back.
func (a Agreed) Withdraw(uses []trust.Use, by trust.By, at time.Time) error {
	return a.write(uses, by, at, true)
}

func (a Agreed) write(uses []trust.Use, by trust.By, at time.Time, withdrawn bool) (err error) {
	var text []byte
	for _, u := range uses {
		one, err := json.Marshal(line{trust.Consent{Use: u, By: by, At: at.UTC().Truncate(time.Second)}, withdrawn})
		if err != nil {
			return err
		}
		text = append(append(text, one...), '\n')
	}
	if a.path == "" {
		return fmt.Errorf("%w: this user has no folder for it (HOME is not set): write it into %s instead", fault.ErrInvalid, filepath.Join(systemFolder, FileName))
	}
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return err
	}
	if err := checkFolders(a.path); err != nil {
		return fmt.Errorf("%w: what is agreed to is not written: %w", fault.ErrInvalid, err)
	}
	file, err := os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(text); err != nil { // one write, so that two who agree at once do not mix their lines
		return err
	}
	return file.Sync()
}
