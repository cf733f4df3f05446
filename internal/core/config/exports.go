package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/export"
)

// Exports is where files go that were asked for through the HTTP interface, and how long they
// stay.
type Exports struct {
	Dir      string            `json:"dir,omitempty" doc:"folder for the files of exports that were asked for by HTTP; without it FILE.exports beside a SQLite file, and none with a server"`
	KeepFor  duration.Duration `json:"keepFor,omitzero" doc:"how long such a file can be fetched, up to P30D; without it PT24H"`
	MaxBytes int64             `json:"maxBytes,omitempty" doc:"bytes that all such files together may take; without it 10000000000"`
	AtOnce   int               `json:"atOnce,omitempty" doc:"exports that a process makes at once, up to 8; without it 2"`
}

// What holds unless patra.yaml says otherwise.
const (
	exportsKept  = 24 * time.Hour
	exportsBytes = 10_000_000_000
	exportsOnce  = 2
	exportsMost  = 8
)

// WithDefaults fills what was left open.
func (e Exports) WithDefaults() Exports {
	if e.KeepFor == 0 {
		e.KeepFor = duration.Duration(exportsKept)
	}
	if e.MaxBytes == 0 {
		e.MaxBytes = exportsBytes
	}
	if e.AtOnce == 0 {
		e.AtOnce = exportsOnce
	}
	return e
}

func (c *checker) exports(e Exports) {
	if e.Dir != "" && !strings.HasPrefix(e.Dir, "/") && !isDrive(e.Dir) {
		c.report("exports.dir", fmt.Sprintf("%q is not an absolute path", e.Dir), "a relative path would depend on the folder that patra is started in")
	}
	if e.KeepFor.Std() > export.LongestKeep {
		c.report("exports.keepFor", "files of exports are kept 30 days at most", "such as PT24H")
	}
	if e.AtOnce > exportsMost {
		c.report("exports.atOnce", fmt.Sprintf("%d exports at once are too many: expected 1 to %d", e.AtOnce, exportsMost), "")
	}
}
