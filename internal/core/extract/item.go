package extract

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/privacy"
	"github.com/patra-ingest/patra/internal/core/record"
)

// refusal is why an item cannot become a record.
type refusal struct {
	reason record.Reason
	where  string
	detail string
}

func refuse(reason record.Reason, where fmt.Stringer, format string, args ...any) *refusal {
	r := &refusal{reason: reason, detail: fmt.Sprintf(format, args...)}
	if where != nil {
		r.where = where.String()
	}
	return r
}

// readItem maps one item. A defect of ours that panics on one strange item must
// cost that item, not the page.
func (r *Reader) readItem(item document.Item, asked Asked, page *Page, scratch *[]byte) (in record.Incoming, reject *record.Reject, outside bool) {
	var refused *refusal
	defer func() {
		if p := recover(); p != nil {
			refused = refuse(record.MappingFailed, nil, "panic: %v", p)
		}
		if refused != nil {
			reject = &record.Reject{ProviderID: in.ProviderID, Reason: refused.reason, Path: refused.where, Detail: privacy.Mask(asked.Secrets.String(refused.detail)), Raw: item.Raw, FetchAt: asked.FetchAt}
		}
	}()
	refused = r.identify(&in, item)
	if in.ProviderID = asked.Secrets.String(in.ProviderID); refused != nil {
		return in, nil, false
	}
	in.FetchAt, in.MappingID, in.Payload, in.FillOnly = asked.FetchAt, asked.MappingID, item.Raw, r.config.FillOnly
	if refused = r.stamp(&in, item); refused != nil {
		return in, nil, false
	}
	in.MergedInto = asked.Secrets.String(in.MergedInto)
	dated, away := r.follow(item, asked, page)
	if away > 0 && asked.Drop {
		return in, nil, true
	}
	refused = r.content(&in, item, scratch)
	in.Fields = asked.Secrets.Bytes(in.Fields)
	if refused == nil && dated {
		page.dated(away)
	}
	return in, nil, false
}

// follow reads the date the filter selects by, and how far it lies outside of
// what was asked for. Without a readable date we cannot know; then the item is
// kept. So it is if a date such as 2025-03 may lie in the window, and wherever
// the upstream chose it: its filter and the date it shows may differ, and one
// item too many never hurts, since the store decides which version wins (D§5.11, I2).
func (r *Reader) follow(item document.Item, asked Asked, page *Page) (dated bool, away time.Duration) {
	if r.item.filtered.IsZero() {
		return false, 0
	}
	date, err := r.item.filtered.date(item.Values, r.dates)
	if err != nil {
		return false, 0
	}
	page.passes(date.within.From)
	return true, asked.away(date.within)
}

// stamp finds what decides which version wins: the date, the source's version,
// and whether the item announces a deletion. Such an item has little more than
// its id, so it may lack a date (D§5.13).
func (r *Reader) stamp(in *record.Incoming, item document.Item) *refusal {
	var err error
	if !r.item.gone.IsZero() {
		if in.Gone, _, err = r.item.gone.holds(item.Values); err != nil {
			return refuse(record.MappingFailed, r.config.Gone, "gone: %v", err)
		}
	}
	if err := r.merged(in, item); err != nil {
		return refuse(record.MappingFailed, r.config.MergedInto, "mergedInto: %v", err)
	}
	if !r.item.updated.IsZero() {
		date, err := r.item.updated.date(item.Values, r.dates)
		if err != nil && !(in.Gone && errors.Is(err, errNoDate)) {
			return refuse(record.BadUpdatedAt, r.config.UpdatedAt, "%v", err)
		}
		in.UpdatedAt, in.UpdatedBefore = date.at, date.within.To
	}
	if in.SourceVersion, _, err = r.item.version.integer(item.Values); err != nil {
		return refuse(record.MappingFailed, r.config.Version, "version: %v", err)
	}
	return nil
}

// merged finds the record that took the place of this one, which is gone then. An
// item that names itself was merged into nothing.
func (r *Reader) merged(in *record.Incoming, item document.Item) error {
	if r.item.merged.IsZero() {
		return nil
	}
	id, isText, err := r.item.merged.text(item.Values)
	if r.config.IDCase == "LOWER" {
		id = strings.ToLower(id)
	}
	if err != nil || !isText || id == "" || id == in.ProviderID {
		return err
	}
	if len(id) > record.MaxIDBytes || !utf8.ValidString(id) {
		return fmt.Errorf("%.60q cannot be an id", id)
	}
	in.Gone, in.MergedInto = true, id
	return nil
}

// content writes the output fields and the hash.
func (r *Reader) content(in *record.Incoming, item document.Item, scratch *[]byte) *refusal {
	fields, err := r.appendFields((*scratch)[:0], item, in.Gone)
	var missing missingField
	var failed failedField
	switch {
	case errors.As(err, &missing):
		return refuse(record.MissingField, missing.Selector, "%v", missing)
	case errors.As(err, &failed):
		return refuse(record.MappingFailed, failed.Selector, "%v", failed)
	}
	in.Fields = bytes.Clone(fields) // kept in its final size
	canonical, err := r.canonical.Append(fields[:0], item.JSON)
	if err != nil {
		*scratch = fields
		return refuse(record.BadItem, nil, "%v", err)
	}
	*scratch = canonical
	in.ContentHash = sha256.Sum256(canonical)
	return nil
}
