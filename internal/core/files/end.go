package files

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Copy is what is known of the copy of a file that lies on the disk.
type Copy struct {
	Size        int64
	MD5, SHA256 string
}

// End is what was seen when a file was read to its end.
type End struct {
	Items int64 // of the file
	// Parts is how many packed files stand one behind the other in it. Behind each of them a
	// cut looks like the end.
	Parts int
}

// CheckCopy refuses a copy that is not what the listing announced.
func (l Listed) CheckCopy(c Copy) error {
	if l.Size > 0 && c.Size != l.Size {
		return fault.Newf(fault.BadBody, "file %s has %d bytes, and the listing announces %d: it is cut, or was replaced since it was listed", l.Name, c.Size, l.Size)
	}
	kind, sum, _ := strings.Cut(l.Checksum, ":")
	came := map[string]string{"md5": c.MD5, "sha256": c.SHA256}[kind]
	if sum != "" && came != sum {
		return fault.Newf(fault.BadBody, "file %s has the %s %s, and the listing announces %s: it is damaged, or was replaced since it was listed", l.Name, kind, came, sum)
	}
	return nil
}

// CheckEnd decides whether a file that was read to its end was wholly read: what was announced
// came, and something shows that nothing is missing behind (D§5.26).
func (l Listed) CheckEnd(end End, format document.Format, packed Packing) error {
	if l.Lines > 0 && end.Items != l.Lines {
		return fault.Newf(fault.BadBody, "file %s has %d items, and the listing announces %d: it is cut, or was replaced since it was listed", l.Name, end.Items, l.Lines)
	}
	announced := l.Lines > 0 || l.Size > 0 || l.Checksum != ""
	if announced || format.ShowsItsEnd() || packed == Zip || packed.Archive() {
		return nil
	}
	if packed.ShowsItsEnd() && end.Parts == 1 {
		return nil
	}
	why := fmt.Sprintf("%s does not show its end", format)
	if packed.ShowsItsEnd() {
		why = fmt.Sprintf("it is %d packed files one after the other, and a cut between two of them looks like the end", end.Parts)
	}
	return fault.Newf(fault.BadBody, "file %s is read, but nothing shows that it is whole: %s, and the listing announces neither size nor lines nor checksum (response.fields of the LISTING endpoint)", l.Name, why)
}

// MayShowEnd reports whether anything can show that a file is whole, given the fields that a
// listing has.
func MayShowEnd(format document.Format, packed Packing, fields []string) bool {
	for _, f := range fields {
		if f == FieldSize || f == FieldLines || f == FieldMD5 || f == FieldSHA256 {
			return true
		}
	}
	return format.ShowsItsEnd() || packed.ShowsItsEnd()
}
