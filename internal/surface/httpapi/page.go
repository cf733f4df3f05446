package httpapi

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// OfSource narrows an answer to a source.
type OfSource struct {
	Source string `query:"source" maxLength:"64" doc:"Only what belongs to this source."`
}

// Page is which part of a list is wanted (R10).
type Page struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"1000" doc:"Items of one page."`
	Cursor string `query:"cursor" maxLength:"512" doc:"Where the page begins: next of the page before it."`
}

// before is the row behind which the page begins, for lists by number, newest first.
func (p Page) before() (int64, error) {
	if p.Cursor == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(p.Cursor, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%w: cursor: expected next of a page of this list", fault.ErrInvalid)
	}
	return id, nil
}

// unseenError is how callers that are limited to sources learn of other ones: not at all. It
// reads as if the row did not exist; the audit log knows better.
type unseenError struct {
	what string
	name any
}

func (e unseenError) Error() string {
	return fmt.Sprintf("%v: %s %v", fault.ErrNotFound, e.what, e.name)
}

// Unwrap makes it what is not found.
func (e unseenError) Unwrap() error { return fault.ErrNotFound }

func errUnseen(what string, name any) error { return unseenError{what, name} }

// sourcesFor are the sources that a list is read for; one empty name stands for all.
func sourcesFor(who access.Caller, wanted string) ([]string, error) {
	switch {
	case wanted != "" && !who.Sees(wanted):
		return nil, errUnseen("source", wanted)
	case wanted != "":
		return []string{wanted}, nil
	case who.SeesAll():
		return []string{""}, nil
	}
	return who.Sources, nil
}

// readPage reads one page of a list by number, newest first. For a caller that is limited
// to several sources the page is put together of one page of each: the newest of all of
// them, so that going on with next leaves nothing out.
func readPage[T any](ctx context.Context, who access.Caller, f view.Filter, p Page, id func(T) int64, read func(context.Context, view.Filter) ([]T, error)) (out view.List[T], err error) {
	sources, err := sourcesFor(who, f.Source)
	if err != nil {
		return out, err
	}
	if f.Before, err = p.before(); err != nil {
		return out, err
	}
	f.Limit = p.Limit + 1
	var rows []T
	for _, f.Source = range sources {
		more, err := read(ctx, f)
		if err != nil {
			return out, err
		}
		rows = append(rows, more...)
	}
	if len(sources) > 1 {
		sort.Slice(rows, func(i, j int) bool { return id(rows[i]) > id(rows[j]) }) // without code for each type of row
	}
	return view.Paged(rows[:min(len(rows), f.Limit)], p.Limit, func(row T) string { return strconv.FormatInt(id(row), 10) }), nil
}

// endOf is where a range of time ends, as a text that sorts as time does.
func endOf(w window.Window) string { return w.To.UTC().Format("2006-01-02T15:04:05.000000Z") }

// behind matches what endOf gives, and what stands before and after it in a cursor.
var behind = regexp.MustCompile(`^([^|]*\|)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z(\|\d+)?$`)

// pageOfRanges cuts a list of ranges of time that is computed as a whole. A page begins behind the
// end of the last range of the page before it: where ranges were split or joined meanwhile, no time
// is left out.
func pageOfRanges[T any](all []T, p Page, position func(T) string) (out view.List[T], err error) {
	if p.Cursor != "" && !behind.MatchString(p.Cursor) {
		return out, fmt.Errorf("%w: cursor: expected next of a page of this list", fault.ErrInvalid)
	}
	sort.SliceStable(all, func(i, j int) bool { return position(all[i]) < position(all[j]) })
	from := sort.Search(len(all), func(i int) bool { return position(all[i]) > p.Cursor })
	return view.Paged(all[from:min(len(all), from+p.Limit+1)], p.Limit, position), nil
}

// keepSeen leaves out what belongs to sources that the caller does not see.
func keepSeen[T any](who access.Caller, rows []T, source func(T) string) []T {
	if who.SeesAll() {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row T) bool { return !who.Sees(source(row)) })
}
