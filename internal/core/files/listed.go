package files

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Listed is what a listing says of a file.
type Listed struct {
	Name     string    `json:"name"`
	Address  string    `json:"address"`
	Stamp    time.Time `json:"stamp,omitzero"`     // its date; zero: not known
	Size     int64     `json:"size,omitempty"`     // bytes as it is served; zero: not known
	Lines    int64     `json:"lines,omitempty"`    // items in it; zero: not known
	Checksum string    `json:"checksum,omitempty"` // such as md5:9e10…; empty: not known
}

// The names of output fields that a LISTING endpoint may have.
const (
	FieldAddress = "address"
	FieldSize    = "size"
	FieldLines   = "lines"
	FieldMD5     = "md5"
	FieldSHA256  = "sha256"
)

// Fields lists them.
func Fields() []string {
	return []string{FieldAddress, FieldSize, FieldLines, FieldMD5, FieldSHA256}
}

var (
	plainMD5    = regexp.MustCompile(`^[0-9a-f]{32}$`)
	plainSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// longestName is how long the name and the address of a file may be.
const longestName = 2000

// FromRecord reads what an item of a listing says. What cannot be read is an error: a file
// that is left out would be missing for good.
func FromRecord(in record.Incoming) (Listed, error) {
	out := Listed{Name: in.ProviderID, Stamp: in.UpdatedAt}
	var fields map[string]any
	if err := json.Unmarshal(in.Fields, &fields); err != nil {
		return out, fmt.Errorf("file %.80q: its fields cannot be read: %w", in.ProviderID, err)
	}
	for name, value := range fields {
		if err := out.setField(name, value); err != nil {
			return out, fmt.Errorf("file %.80q: response.fields.%s: %w", in.ProviderID, name, err)
		}
	}
	switch {
	case out.Address == "":
		return out, fmt.Errorf("file %.80q has no address (response.fields.address)", in.ProviderID)
	case len(out.Address) > longestName || len(out.Name) > longestName:
		return out, fmt.Errorf("file %.80q: its name or address is longer than %d bytes", in.ProviderID, longestName)
	}
	return out, nil
}

func (l *Listed) setField(name string, value any) (err error) {
	text := ""
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		text = strings.TrimSpace(v)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Errorf("is neither a text nor a number")
	}
	if text == "" {
		return nil
	}
	switch name {
	case FieldAddress:
		l.Address = text
	case FieldSize:
		l.Size, err = count(text)
	case FieldLines:
		l.Lines, err = count(text)
	case FieldMD5:
		if text = strings.ToLower(text); !plainMD5.MatchString(text) {
			return fmt.Errorf("%.40q is no MD5: 32 hexadecimal digits", text)
		}
		l.Checksum = "md5:" + text
	case FieldSHA256:
		if text = strings.ToLower(text); !plainSHA256.MatchString(text) {
			return fmt.Errorf("%.80q is no SHA-256: 64 hexadecimal digits", text)
		}
		l.Checksum = "sha256:" + text
	}
	return err
}

// count reads a whole number that is not negative.
func count(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%.40q is no whole number of bytes or lines", text)
	}
	return n, nil
}

// Version returns what tells this file from another one of the same name; empty if nothing
// does. The address is no part of it: some have a signature that changes.
func (l Listed) Version() string {
	if l.Stamp.IsZero() && l.Size == 0 && l.Lines == 0 && l.Checksum == "" {
		return ""
	}
	return fingerprint.Bytes([]byte(fmt.Sprintf("%d|%d|%d|%s", l.Stamp.UnixMicro(), l.Size, l.Lines, l.Checksum)))
}

// Key returns a short name of the file under which a copy of it lies on a disk.
func (l Listed) Key() string {
	return fingerprint.Bytes([]byte(l.Name + "|" + l.Address + "|" + l.Version()))[:32]
}

// FromAddress returns a file that no listing names.
func FromAddress(address string) Listed { return Listed{Name: address, Address: address} }

// Owed is a file that has to be read, as it was listed when that was planned.
type Owed struct {
	Listed
	Version   string    `json:"version,omitempty"`
	Validator Validator `json:"validator,omitempty"` // of what was read last; empty: nothing was
}
