// Package catalog holds the sources that come with the program, as the same
// files a user would write.
//
// It must never hold code that knows a source: whatever a source needs is said
// in its file. The reader of the files brings the decoder.
package catalog

import (
	"embed"
	"fmt"
	"strings"
)

// FS holds one file per source, named after its code.
//
//go:embed *.yaml
var FS embed.FS

const extension = ".yaml"

// List gives the codes of the bundled sources, sorted.
func List() []string {
	entries, err := FS.ReadDir(".")
	if err != nil {
		panic("catalog: the embedded files cannot be listed: " + err.Error()) // the build put them there
	}
	var codes []string
	for _, entry := range entries {
		codes = append(codes, strings.TrimSuffix(entry.Name(), extension))
	}
	return codes
}

// File returns the name of a source's file, for messages.
func File(code string) string { return code + extension }

// Read gives the text of a bundled source.
func Read(code string) ([]byte, error) {
	text, err := FS.ReadFile(File(code))
	if err != nil {
		return nil, fmt.Errorf("no bundled source %q: there are %s", code, strings.Join(List(), ", "))
	}
	return text, nil
}
