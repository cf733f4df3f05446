package blackbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// format is raised when the meaning of a bundle changes.
const format = 1

// Manifest says what a bundle holds, who made it, why, and until when it may be
// used (§14.10). Its seal covers all of it, and with the hashes every part.
type Manifest struct {
	Format    int       `json:"format"`
	Source    string    `json:"source"`
	Operation string    `json:"operation"`
	Keys      Keys      `json:"keys"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	Actor     string    `json:"actor"`
	Reason    string    `json:"reason"`
	Scrubbed  bool      `json:"scrubbed,omitempty"` // the body held the value of a credential, which was masked
	NoBody    string    `json:"noBody,omitempty"`   // why it holds no body
	Parts     []Part    `json:"parts"`
	Seal      string    `json:"seal"`
}

// Part is one file of a bundle.
type Part struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Names of the parts.
const (
	ManifestName = "manifest.json"
	batchName    = "batch.json"
	decidedName  = "decisions.json"
	eventsName   = "events.json"
	snapshotName = "snapshot.json"
	bodyName     = "body"
)

// Names returns all parts a bundle may have.
func Names() []string {
	return []string{ManifestName, batchName, decidedName, eventsName, snapshotName, bodyName}
}

// IsText reports whether a part is read as JSON when a bundle is opened. The body is
// read later, by the rules of its source.
func IsText(name string) bool { return name != bodyName }

// refusal is why a bundle is not taken. It is a conflict, and not with a stored row.
type refusal string

func (r refusal) Error() string      { return string(r) }
func (refusal) Is(target error) bool { return target == fault.ErrConflict }

// Why a bundle is refused.
const (
	ErrExpired  = refusal("the bundle has expired")
	ErrTampered = refusal("the bundle is not as it was exported")
)

// decisions is the part of a box that says what became of the items.
type decisions struct {
	Written []Written  `json:"written"`
	Heads   []Head     `json:"heads,omitempty"`
	Rejects []Rejected `json:"rejects,omitempty"`
}

// Pack makes the parts of a bundle. Mask takes the values of credentials out of a
// text: raw bodies are masked when they are kept, and this is the second lock.
func Pack(b Box, body []byte, m Manifest, mask func([]byte) []byte) (Manifest, map[string][]byte, error) {
	m.Format, m.Source, m.Operation, m.Keys = format, b.Batch.Source, b.Batch.Operation, b.Keys
	snapshot := mask(b.Snapshot)
	if string(snapshot) != string(b.Snapshot) {
		return m, nil, fmt.Errorf("%w: the snapshot of the source holds the value of a credential: it is not exported; declare it as a reference", fault.ErrInvalid)
	}
	parts := map[string][]byte{snapshotName: snapshot}
	if body != nil {
		parts[bodyName] = mask(body)
		m.Scrubbed, m.NoBody = string(parts[bodyName]) != string(body), ""
	}
	decided, events := decisions{b.Written, b.Heads, b.Rejects}, b.Events
	b.Written, b.Heads, b.Rejects, b.Events = nil, nil, nil, nil
	for name, value := range map[string]any{batchName: b, decidedName: decided, eventsName: events} {
		text, err := writePart(value)
		if err != nil {
			return m, nil, err
		}
		parts[name] = mask(text)
	}
	m.Parts = nil
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		m.Parts = append(m.Parts, Part{name, len(parts[name]), fingerprint.Bytes(parts[name])})
	}
	var err error
	if m.Seal, err = m.sealText(); err != nil {
		return m, nil, err
	}
	parts[ManifestName], err = writePart(m)
	return m, parts, err
}

// writePart returns a part for people to read: values stay as they were sent.
func writePart(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return out.Bytes(), err
}

func (m Manifest) sealText() (string, error) {
	m.Seal = ""
	return fingerprint.Of(m)
}

// Unpack reads a bundle. It is refused if it expired, if a part is not the one
// that was exported, or if its seal is not the one the exporter told; an empty
// seal was not told, and then a bundle that was forged as a whole passes.
func Unpack(parts map[string][]byte, seal string, now time.Time) (*Box, []byte, Manifest, error) {
	m, err := manifestOf(parts)
	if err != nil {
		return nil, nil, m, err
	}
	if err := m.checkParts(parts, seal, now); err != nil {
		return nil, nil, m, err
	}
	b := &Box{Snapshot: parts[snapshotName]}
	var decided decisions
	for name, into := range map[string]any{batchName: b, decidedName: &decided, eventsName: &b.Events} {
		if err := json.Unmarshal(parts[name], into); err != nil {
			return nil, nil, m, fmt.Errorf("%w: %s: %v", ErrTampered, name, err)
		}
	}
	b.Written, b.Heads, b.Rejects, b.Scrubbed = decided.Written, decided.Heads, decided.Rejects, m.Scrubbed
	if b.Keys != m.Keys {
		return nil, nil, m, fmt.Errorf("%w: %s belongs to another batch than the manifest", ErrTampered, batchName)
	}
	return b, parts[bodyName], m, nil
}

func manifestOf(parts map[string][]byte) (m Manifest, err error) {
	text, ok := parts[ManifestName]
	if !ok {
		return m, fmt.Errorf("%w: it has no %s", ErrTampered, ManifestName)
	}
	return readManifest(text)
}

// ReadManifest reads a manifest alone and refuses it if it expired, or if its seal is
// not the one that was told. What it says of the parts may then be used to limit them,
// before any of them is read (D§5.30).
func ReadManifest(text []byte, seal string, now time.Time) (Manifest, error) {
	m, err := readManifest(text)
	if err != nil {
		return m, err
	}
	return m, m.checkSeal(seal, now)
}

func readManifest(text []byte) (m Manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%w: %s: %v", ErrTampered, ManifestName, err)
	}
	if m.Format != format {
		return m, refusal(fmt.Sprintf("the bundle has format %d, this program reads format %d: replay it with the version that made it", m.Format, format))
	}
	return m, nil
}

// checkSeal holds a manifest against its own seal, the one that was told, and the day
// on which it ends.
func (m Manifest) checkSeal(seal string, now time.Time) error {
	own, err := m.sealText()
	switch {
	case err != nil:
		return err
	case own != m.Seal:
		return fmt.Errorf("%w: the seal does not fit the manifest", ErrTampered)
	case seal != "" && seal != own:
		return fmt.Errorf("%w: its seal is %s, not the one that was given", ErrTampered, own)
	case !now.Before(m.ExpiresAt):
		return fmt.Errorf("%w on %s: export the batch again", ErrExpired, m.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return nil
}

func (m Manifest) checkParts(parts map[string][]byte, seal string, now time.Time) error {
	if err := m.checkSeal(seal, now); err != nil {
		return err
	}
	for _, part := range m.Parts {
		content, ok := parts[part.Name]
		if !ok {
			return fmt.Errorf("%w: %s is missing", ErrTampered, part.Name)
		}
		if len(content) != part.Bytes || fingerprint.Bytes(content) != part.SHA256 {
			return fmt.Errorf("%w: %s was changed", ErrTampered, part.Name)
		}
	}
	if len(parts) != len(m.Parts)+1 {
		return fmt.Errorf("%w: it has %d parts beside the manifest, which lists %d", ErrTampered, len(parts)-1, len(m.Parts))
	}
	if got := fingerprint.Bytes(parts[snapshotName]); got != m.Keys.SpecFingerprint {
		return fmt.Errorf("%w: the fingerprint of its snapshot is %s, the batch ran under %s", ErrTampered, got, m.Keys.SpecFingerprint)
	}
	return nil
}
