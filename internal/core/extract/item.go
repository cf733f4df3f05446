package extract

import (
	"bytes"
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

func refuseItem(reason record.Reason, where fmt.Stringer, format string, args ...any) *refusal {
	r := &refusal{reason: reason, detail: fmt.Sprintf(format, args...)}
	if where != nil {
		r.where = where.String()
	}
	return r
}

// readItem maps one item. A defect of ours that panics on one strange item must
// cost that item, not the page.
func (r *Reader) readItem(item entry, asked Asked, page *Page, scratch *[]byte) (in record.Incoming, reject *record.Reject, outside bool) {
	var refused *refusal
	defer func() {
		if p := recover(); p != nil {
			refused = refuseItem(record.MappingFailed, nil, "panic: %v", p)
		}
		if refused != nil {
			reject = asked.rejectOf(in.ProviderID, refused, item.Item)
		}
	}()
	refused = r.setID(&in, item)
	if in.ProviderID = asked.Secrets.String(in.ProviderID); refused != nil {
		return in, nil, false
	}
	in.FetchAt, in.MappingID, in.FillOnly = asked.FetchAt, asked.MappingID, r.config.FillOnly
	in.Payload, in.Offset = item.Raw, int(item.Offset)
	if refused = r.setVersion(&in, item); refused != nil {
		return in, nil, false
	}
	in.MergedInto = asked.Secrets.String(in.MergedInto)
	dated, away := r.readFilterDate(item, asked, page)
	if away > 0 && asked.Drop {
		return in, nil, true
	}
	refused = r.setContent(&in, item, scratch)
	in.Fields = asked.Secrets.Bytes(in.Fields)
	switch {
	case refused != nil:
	case dated:
		page.noteKept(away)
	case len(page.Dates) > 0:
		page.Undated++
	}
	return in, nil, false
}

// rejectOf returns an item that cannot become a record, with the reason.
func (a Asked) rejectOf(id string, refused *refusal, item document.Item) *record.Reject {
	return &record.Reject{ProviderID: id, Reason: refused.reason, Path: refused.where, Detail: privacy.Mask(a.Secrets.String(refused.detail)), Raw: item.Raw, FetchAt: a.FetchAt}
}

// leavesOut reports whether a rule of the source leaves an item out, and notes what else the page
// needs to know of it: that it came, and its date. A rule that cannot be answered leaves nothing
// out: then the item is read, and rejected if it is none.
func (r *Reader) leavesOut(item entry, asked Asked, page *Page) bool {
	if r.item.where.IsZero() || item.Err != nil || isNullItem(item.Item) {
		return false
	}
	kept, _, err := r.item.where.holdsIn(item.facts)
	if err != nil || kept {
		return false
	}
	r.readFilterDate(item, asked, page)
	key := record.KeyOf(string(item.Raw))
	var in record.Incoming
	if r.setID(&in, item) == nil {
		key = record.KeyOf(asked.Secrets.String(in.ProviderID))
	}
	page.Keys = append(page.Keys, key)
	return true
}

// readFilterDate reads the date the filter selects by, and how far it lies outside of
// what was asked for. Without a readable date we cannot know; then the item is
// kept. So it is if a date such as 2025-03 may lie in the window, and wherever
// the upstream chose it: its filter and the date it shows may differ, and one
// item too many never hurts, since the store decides which version wins (D§5.11, I2).
func (r *Reader) readFilterDate(item entry, asked Asked, page *Page) (dated bool, away time.Duration) {
	if r.item.filtered.IsZero() {
		return false, 0
	}
	date, err := r.item.filtered.dateIn(item.facts, r.dates)
	if err != nil {
		return false, 0
	}
	page.noteDate(date.within.From)
	place := len(page.Keys) // its key is added next
	page.Dates[place] = date.within
	switch {
	case asked.Window.Empty():
	case asked.isLater(date.within):
		page.Later = append(page.Later, place)
	case asked.isEarlier(date.within):
		page.Earlier = append(page.Earlier, place)
	}
	return true, asked.distanceOutside(date.within)
}

// setVersion finds what decides which version wins: the date, the source's version,
// and whether the item announces a deletion. Such an item has little more than
// its id, so it may lack a date (D§5.13).
func (r *Reader) setVersion(in *record.Incoming, item entry) *refusal {
	var err error
	if !r.item.gone.IsZero() {
		if in.Gone, _, err = r.item.gone.holdsIn(item.facts); err != nil {
			return refuseItem(record.MappingFailed, r.config.Gone, "gone: %v", err)
		}
	}
	if err := r.setMerged(in, item); err != nil {
		return refuseItem(record.MappingFailed, r.config.MergedInto, "mergedInto: %v", err)
	}
	if !r.item.updated.IsZero() {
		date, err := r.item.updated.dateIn(item.facts, r.dates)
		if err != nil && !(in.Gone && errors.Is(err, errNoDate)) {
			return refuseItem(record.BadUpdatedAt, r.config.UpdatedAt, "%v", err)
		}
		in.UpdatedAt, in.UpdatedBefore = date.at, date.within.To
	}
	if in.SourceVersion, _, err = r.item.version.integerIn(item.facts); err != nil {
		return refuseItem(record.MappingFailed, r.config.Version, "version: %v", err)
	}
	return nil
}

// setMerged finds the record that took the place of this one, which is gone then. An
// item that names itself was merged into nothing.
func (r *Reader) setMerged(in *record.Incoming, item entry) error {
	if r.item.merged.IsZero() {
		return nil
	}
	id, isText, err := r.item.merged.textIn(item.facts)
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

// setContent writes the output fields and the hash.
func (r *Reader) setContent(in *record.Incoming, item entry, scratch *[]byte) *refusal {
	fields, parts, err := r.appendFields((*scratch)[:0], item, in.Gone)
	if err != nil {
		return refuseFields(err)
	}
	in.Fields, in.Parts = bytes.Clone(fields), parts // kept in its final size
	*scratch = fields
	if item.Summed && r.isHashedAlone(item) {
		in.ContentHash = record.Digest(item.Sum)
		return nil
	}
	canonical, err := r.appendCanonical(fields[:0], item)
	if err != nil {
		return refuseItem(record.BadItem, nil, "%v", err)
	}
	*scratch = canonical
	in.ContentHash = record.DigestOf(canonical)
	return nil
}

// refuseFields says why an item has no output fields.
func refuseFields(err error) *refusal {
	var missing missingField
	var failed failedField
	var illegal illegalField
	switch {
	case errors.As(err, &missing):
		return refuseItem(record.MissingField, missing.Selector, "%v", missing)
	case errors.As(err, &illegal):
		return refuseItem(record.IllegalValue, illegal.Selector, "%v", illegal)
	case errors.As(err, &failed):
		return refuseItem(record.MappingFailed, failed.Selector, "%v", failed)
	}
	return refuseItem(record.MappingFailed, nil, "%v", err)
}
