package webui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Records tells what is stored.
type Records interface {
	// Dataset finds the records of SOURCE or SOURCE/ENDPOINT.
	Dataset(ctx context.Context, name string) (view.Dataset, error)
	// List lists records without their content, behind an id.
	List(ctx context.Context, d view.Dataset, after string, limit int) ([]view.Record, error)
	// ListChanges lists versions in the order in which they were stored; next 0: there is no more.
	ListChanges(ctx context.Context, d view.Dataset, q view.Changes) (rows []view.Change, next int64, err error)
	// History reads a record with its newest versions, and what changed between them.
	History(ctx context.Context, d view.Dataset, id string, l view.Looking) (view.History, error)
}

// recordsPage finds records, and shows the versions of one side by side.
type recordsPage struct {
	Source, ID, After string
	Trouble           string // why nothing is shown
	Dataset           view.Dataset
	Rows              []view.Record
	Older             string
	Since             string   // as it was asked for; empty: by key
	Orders            []choice // by key, or what was stored since
	Changes           *changeList
	Record            *view.History
	Fields            []fieldRow
}

// changeList is what was stored since an instant.
type changeList struct {
	Since time.Time
	Rows  []view.Change
}

// fieldRow is one field over the versions, the newest first.
type fieldRow struct {
	Name  string
	Cells []fieldCell
}

type fieldCell struct {
	Text    string
	Changed bool // it differs from the version before it
}

const (
	versionsShown = 4
	mostValue     = 600 // characters of a field
	mostFields    = 100
)

// showRecords answers what is stored about an id, and where it came from.
func (s *site) showRecords(a *ask) (page, error) {
	r := recordsPage{Source: strings.TrimSpace(a.FormValue("source")), ID: strings.TrimSpace(a.FormValue("id")), After: a.FormValue("after"), Since: strings.TrimSpace(a.FormValue("since"))}
	p := page{Template: "records", Title: "Find a record"}
	if r.Source == "" {
		p.Body = r
		return p, nil
	}
	source, _, _ := strings.Cut(r.Source, "/")
	var err, asked error // asked: the question itself is wrong
	if !a.Caller.Sees(source) {
		err = unseen("source", source)
	} else {
		r.Dataset, err = s.Work.Records.Dataset(a.Context(), r.Source)
	}
	switch {
	case err == nil && r.ID != "":
		err = s.readRecord(a, &r)
	case err == nil && r.Since != "":
		var q view.Changes
		if q, asked = a.changes(); asked == nil {
			err = s.listChanges(a, &r, q)
		}
	case err == nil:
		err = s.listRecords(a, &r)
	}
	r.Orders, err = a.orders(), cmp.Or(err, asked)
	if errors.Is(err, fault.ErrNotFound) || errors.Is(err, fault.ErrInvalid) {
		s.noteUnseen(a.Context(), err)
		r.Trouble, err = err.Error(), nil
		if p.Title, p.Status = "Nothing is stored under this", 404; asked != nil {
			p.Title, p.Status = "This cannot be asked", 400
		}
	}
	if err != nil {
		return page{}, err
	}
	switch {
	case r.Record != nil:
		p.Title = fmt.Sprintf("%s is stored in %s", r.Record.ID, countText(r.Record.Version, "version"))
	case r.Changes != nil:
		p.Title = "Stored since " + r.Changes.Since.Format("2006-01-02 15:04") + ": " + r.Dataset.Source + "/" + r.Dataset.Endpoint
	case r.Trouble == "":
		p.Title = "Records of " + r.Dataset.Source + "/" + r.Dataset.Endpoint
	}
	p.Body = r
	return p, nil
}

func (s *site) listRecords(a *ask, r *recordsPage) (err error) {
	r.Rows, err = s.Work.Records.List(a.Context(), r.Dataset, r.After, rowsOfPage+1)
	if len(r.Rows) > rowsOfPage {
		r.Rows = r.Rows[:rowsOfPage]
		r.Older = a.with("after", r.Rows[rowsOfPage-1].ID)
	}
	return err
}

// listChanges lists what was stored since an instant. The next page names the instant itself: one
// that counts from now would be another one by then.
func (s *site) listChanges(a *ask, r *recordsPage, q view.Changes) error {
	rows, next, err := s.Work.Records.ListChanges(a.Context(), r.Dataset, q)
	if err != nil {
		return err
	}
	r.Changes = &changeList{q.Since, rows}
	if next != 0 {
		r.Older = a.with("since", q.Since.Format(time.RFC3339Nano), "behind", strconv.FormatInt(next, 10))
	}
	return nil
}

// changes reads which versions are wanted.
func (a *ask) changes() (q view.Changes, err error) {
	q.Limit = rowsOfPage
	if q.Since, _, err = a.instant("since"); err != nil {
		return q, err
	}
	if text := a.FormValue("behind"); text != "" {
		if q.Behind, err = strconv.ParseInt(text, 10, 64); err != nil || q.Behind < 1 {
			return q, fmt.Errorf("%w: behind: take it from the link to the next page", fault.ErrInvalid)
		}
	}
	return q, nil
}

// orders are links to the same records by key, and to what was stored since some instants.
func (a *ask) orders() (out []choice) {
	chosen := a.FormValue("since")
	for _, one := range [][2]string{{"", "all, by key"}, {"-24h", "stored since 24 h"}, {"-7d", "7 d"}, {"-30d", "30 d"}} {
		out = append(out, choice{one[1], a.with("since", one[0], "after", "", "behind", "", "id", ""), chosen == one[0]})
	}
	return out
}

func (s *site) readRecord(a *ask, r *recordsPage) error {
	h, err := s.Work.Records.History(a.Context(), r.Dataset, r.ID, view.Looking{Most: versionsShown, Diff: true})
	if err != nil {
		return err
	}
	r.Record, r.Fields = &h, sideBySide(h)
	return nil
}

// sideBySide puts the fields of versions beside each other. The newest is known; each older
// one is it without what changed since.
func sideBySide(h view.History) (out []fieldRow) {
	now := map[string]json.RawMessage{}
	if json.Unmarshal(h.Fields, &now) != nil {
		return nil
	}
	columns, changed, names := []map[string]json.RawMessage{now}, []map[string]bool{}, map[string]bool{}
	for i, v := range h.Versions {
		of, before := map[string]bool{}, maps.Clone(columns[i])
		for _, c := range v.Changed {
			if of[c.Name] = true; len(c.Was) == 0 {
				delete(before, c.Name)
				continue
			}
			before[c.Name] = c.Was
		}
		changed, columns = append(changed, of), append(columns, before)
	}
	for _, column := range columns[:len(h.Versions)] {
		for name := range column {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := fieldRow{Name: name}
		for i := range h.Versions {
			row.Cells = append(row.Cells, fieldCell{shortValue(columns[i][name]), changed[i][name]})
		}
		if out = append(out, row); len(out) == mostFields {
			break
		}
	}
	return out
}

// shortValue writes a field: a text as it is, the rest as JSON.
func shortValue(raw json.RawMessage) string {
	text := string(raw)
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		text = plain
	}
	if runes := []rune(text); len(runes) > mostValue {
		return string(runes[:mostValue]) + "…"
	}
	return text
}
