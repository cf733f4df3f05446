// Package export is what leaves the program as files: which versions of which
// records, how a record is written as a line, what a manifest says of the files,
// and the cursor from which the next export goes on.
//
// It must never decode what it only has to copy, and never name a file after
// anything that a source said.
package export

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Format is how records are written.
type Format string

// The formats.
const (
	JSONL Format = "jsonl"
	CSV   Format = "csv"
	// SQLite is a table of a file that others can query.
	SQLite Format = "sqlite"
)

// Packing is how files are compressed.
type Packing string

// The packings.
const (
	Plain Packing = ""
	Gzip  Packing = "gzip"
	Zstd  Packing = "zstd"
)

// States are which records are wanted.
type States string

// The choices of states.
const (
	Active States = "active"
	Gone   States = "gone"
	All    States = "all"
)

// Take reports whether a record in this state is wanted.
func (s States) Take(gone bool) bool { return s == All || gone == (s == Gone) }

// Cut is how records are shared out among files: by the date their source gave them.
type Cut string

// The cuts.
const (
	Whole   Cut = ""
	ByYear  Cut = "year"
	ByMonth Cut = "month"
	ByDay   Cut = "day"
)

// layouts of the dates in names of files.
var layouts = map[Cut]string{ByYear: "2006", ByMonth: "2006-01", ByDay: "2006-01-02"}

// Part names the part of an export that a record belongs to.
func (c Cut) Part(updated time.Time) string {
	switch {
	case c == Whole:
		return ""
	case updated.IsZero():
		return undated
	}
	return updated.UTC().Format(layouts[c])
}

const undated = "undated"

// fileName is what all names of files look like: what a manifest says is read by
// others, and must not lead out of its folder (A25).
var fileName = regexp.MustCompile(`^records(-(\d{4}(-\d\d){0,2}|undated))?\.(jsonl|csv)(\.gz|\.zst)?$`)

// IsName reports whether a file of an export may be called so.
func IsName(name string) bool { return fileName.MatchString(name) }

// ManifestName is the file that is written last: without it an export is not whole.
const ManifestName = "manifest.json"

// Name of the file of a part.
func Name(part string, f Format, p Packing) string {
	name := "records"
	if part != "" {
		name += "-" + part
	}
	return name + f.Ending(p)
}

// Ending of the names of files.
func (f Format) Ending(p Packing) string {
	return "." + string(f) + map[Packing]string{Gzip: ".gz", Zstd: ".zst"}[p]
}

// Row is a version of a record on its way out. Its bytes are valid only while it
// is handed over.
type Row struct {
	Body       int64
	Batch      int64
	ID         []byte
	Version    int
	Gone       bool
	UpdatedAt  time.Time
	FetchedAt  time.Time
	MergedInto []byte
	MappingID  int64 // 0: not known
	Fields     []byte
	Payload    []byte
}

// Range is which versions are read: those that batches after one and up to another
// wrote, and that were the newest of their record when the last of them was
// committed.
type Range struct {
	DatasetID int64
	After     int64 // batch, not included
	Upto      int64 // batch, included; everything up to it is settled
	Payload   bool
	Rows      int    // read at once; 0: as many as is good
	Heads     *Heads // nil: every record is looked up
}

// Order is what is wanted.
type Order struct {
	Source, Endpoint string
	Form             Form
	Packing          Packing
	States           States
	Cut              Cut
	Since            *Cursor // nil: everything
	File             string  // name of the only file; empty: names are made here
}

// Check refuses what cannot be done.
func (o Order) Check() error {
	oneOf := func(what, value string, known ...string) error {
		if slices.Contains(known, value) {
			return nil
		}
		return fmt.Errorf("%w: %s %q: expected %s", fault.ErrInvalid, what, value, strings.Join(known, ", "))
	}
	for _, err := range []error{
		oneOf("format", string(o.Form.Format), string(JSONL), string(CSV), string(SQLite)),
		oneOf("state", string(o.States), string(Active), string(Gone), string(All)),
		oneOf("compression", string(o.Packing), "", string(Gzip), string(Zstd)),
		oneOf("partition", string(o.Cut), "", string(ByYear), string(ByMonth), string(ByDay)),
	} {
		if err != nil {
			return err
		}
	}
	if o.Since != nil && (o.Since.Source != o.Source || o.Since.Endpoint != o.Endpoint) {
		return fmt.Errorf("%w: the cursor is of %s/%s, not of %s/%s", fault.ErrInvalid, o.Since.Source, o.Since.Endpoint, o.Source, o.Endpoint)
	}
	if o.File != "" && o.Cut != Whole {
		return fmt.Errorf("%w: parts by %s need a folder, not the file %s", fault.ErrInvalid, o.Cut, o.File)
	}
	if err := o.checkTable(); err != nil {
		return err
	}
	return o.Form.checkForm()
}

// checkTable refuses what a table has no place for.
func (o Order) checkTable() error {
	if o.Form.Format != SQLite {
		return nil
	}
	for flag, wanted := range map[string]bool{"--partition-by": o.Cut != Whole, "--compress": o.Packing != Plain, "--raw-cells": o.Form.RawCells} {
		if wanted {
			return fmt.Errorf("%w: %s is not for --format sqlite", fault.ErrInvalid, flag)
		}
	}
	if want := map[bool]States{false: Active, true: All}[o.Since != nil]; o.States != want {
		return fmt.Errorf("%w: --state is not for --format sqlite: a table holds the active records only; leave --state out", fault.ErrInvalid)
	}
	return nil
}

// FileOf returns the name of the file of a part.
func (o Order) FileOf(part string) string {
	if o.File != "" {
		return o.File
	}
	return Name(part, o.Form.Format, o.Packing)
}

// bodyBits: the id of a version is that of its batch, then its place in the batch.
const bodyBits = 20

// BatchOf returns the batch that wrote a version.
func BatchOf(body int64) int64 { return body >> bodyBits }
