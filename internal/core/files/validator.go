package files

import "strings"

// Validator is what a server calls the content of a file: its entity tag, else its date. Empty:
// it has no name for it.
type Validator string

const (
	byTag  = "etag "
	byDate = "modified "
)

// NewValidator returns the validator of an answer by two of its headers.
func NewValidator(etag, lastModified string) Validator {
	switch {
	case etag != "":
		return Validator(byTag + etag)
	case lastModified != "":
		return Validator(byDate + lastModified)
	}
	return ""
}

// IfChanged returns the header that asks for a file unless it still is this one; empty if
// nothing can ask so.
func (v Validator) IfChanged() (name, value string) {
	if tag, ok := strings.CutPrefix(string(v), byTag); ok {
		return "If-None-Match", tag
	}
	if date, ok := strings.CutPrefix(string(v), byDate); ok {
		return "If-Modified-Since", date
	}
	return "", ""
}

// IfSame returns the value of If-Range, with which only the rest of a file is sent if it still is
// this one. ok is false where no byte of the two may be taken for the same.
func (v Validator) IfSame() (value string, ok bool) {
	if tag, isTag := strings.CutPrefix(string(v), byTag); isTag {
		return tag, !strings.HasPrefix(tag, "W/")
	}
	return strings.CutPrefix(string(v), byDate)
}
