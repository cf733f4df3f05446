package outline

import (
	"encoding/json"
	"strconv"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// Kept is an outline as it is stored: what it is of, who made it, and a seal over all of
// that. One that is of another version, was made by another program or was damaged is not
// believed.
type Kept struct {
	Code    string
	Stamp   registry.Stamp
	Program string // that made it: another one may compile otherwise
	Text    []byte
	Seal    string
}

// Keep writes an outline for a version of a source.
func Keep(code string, at registry.Stamp, program string, s Source) (Kept, error) {
	text, err := json.Marshal(s)
	k := Kept{Code: code, Stamp: at, Program: program, Text: text}
	k.Seal = k.seal()
	return k, err
}

// Read returns the outline if it is of a version of a source, made by a program, and whole.
func (k Kept) Read(code string, at registry.Stamp, program string) (s Source, valid bool) {
	if k.Code != code || k.Stamp.Version != at.Version || !k.Stamp.Until.Equal(at.Until) || k.Program != program || program == "" || k.Seal != k.seal() {
		return s, false
	}
	if err := json.Unmarshal(k.Text, &s); err != nil || len(s.Endpoints) == 0 && !s.ByID {
		return Source{}, false
	}
	return s, true
}

// seal is a fingerprint of all that was stored.
func (k Kept) seal() string {
	return fingerprint.Key(k.Code, strconv.FormatInt(k.Stamp.Version, 10), strconv.FormatInt(k.Stamp.Until.UnixMicro(), 10), k.Program, string(k.Text))
}
