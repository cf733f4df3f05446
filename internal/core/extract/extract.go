// Package extract turns a response body into records, rejects and what paging
// observed. It stands between transport and the commit of a batch.
//
// A bad item never hides the good ones, and a body that is not the promised
// document is an error, never an empty page (D§5.15). It decides nothing about
// stored records.
package extract

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Reader reads pages of one endpoint. It is safe for concurrent use.
type Reader struct {
	config    Config
	document  *document.Reader
	canonical *document.Canonicalizer
	page      pageSlots
	item      itemSlots
}

// Slots are positions in the values a page or item was read into; -1 is not declared.
type (
	pageSlots struct {
		total, next, hasMore int
		mustHave             []int
	}
	itemSlots struct {
		id, updated, filtered, version int
		fields                         []fieldSlot
	}
	fieldSlot struct {
		name     string
		key      []byte // the name as JSON text
		slot     int
		required bool
	}
)

// Compile checks the paths and builds a reader.
func Compile(c Config) (*Reader, error) {
	r := &Reader{config: c}
	shape := document.Shape{Items: c.Items}
	slot := func(list *[]document.Path, path document.Path) int {
		if path.IsZero() {
			return -1
		}
		*list = append(*list, path)
		return len(*list) - 1
	}
	r.page = pageSlots{slot(&shape.Page, c.Total), slot(&shape.Page, c.NextToken), slot(&shape.Page, c.HasMore), nil}
	for _, path := range c.MustHave {
		r.page.mustHave = append(r.page.mustHave, slot(&shape.Page, path))
	}
	r.item = itemSlots{slot(&shape.Item, c.ID), slot(&shape.Item, c.UpdatedAt), slot(&shape.Item, c.Filtered), slot(&shape.Item, c.Version), nil}
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("response.fields: name %q: %w", name, err)
		}
		r.item.fields = append(r.item.fields, fieldSlot{name, key, slot(&shape.Item, c.Fields[name]), slices.Contains(c.Required, name)})
	}
	if r.item.id < 0 || r.item.updated < 0 || c.Items.IsZero() {
		return nil, errors.New("response.items, response.id and response.updatedAt are needed")
	}
	for _, name := range c.Required {
		if _, ok := c.Fields[name]; !ok {
			return nil, fmt.Errorf("response.required: %q is not among response.fields", name)
		}
	}
	var err error
	if r.document, err = document.Compile(shape); err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	if r.canonical, err = document.NewCanonicalizer(c.Volatile); err != nil {
		return nil, fmt.Errorf("response.volatile: %w", err)
	}
	return r, nil
}

// Asked is what the request was for.
type Asked struct {
	Window    window.Window
	FetchAt   time.Time
	MappingID int64
}

// Page is a body, read.
type Page struct {
	Records   []record.Incoming // one per id
	Rejects   []record.Reject
	Keys      []record.Key // one per item, to tell repeated items from new ones
	Seen      int
	Duplicate int
	Outside   int
	Newest    time.Time // largest stamp of a stored item
	Says      paging.Observation
}

// Read takes a body apart. A body that is not a page of this endpoint is a
// fault.BadBody.
func (r *Reader) Read(body []byte, asked Asked) (*Page, error) {
	doc, err := r.document.Read(body, document.Limits{})
	if err != nil {
		return nil, fault.New(fault.BadBody, fmt.Errorf("%w; it starts with %q", err, start(body)))
	}
	if !doc.HasItems {
		return nil, fault.Newf(fault.BadBody, "no array at %s; the body starts with %q", r.config.Items, start(body))
	}
	for i, slot := range r.page.mustHave {
		if !doc.Values[slot].Present() {
			return nil, fault.Newf(fault.BadBody, "nothing at %s (mustHave); the body starts with %q", r.config.MustHave[i], start(body))
		}
	}
	page := &Page{Seen: len(doc.Items), Keys: make([]record.Key, 0, len(doc.Items)), Says: r.says(doc)}
	incoming := make([]record.Incoming, 0, len(doc.Items))
	var scratch []byte
	for i, item := range doc.Items {
		in, reject, outside := r.readItem(item, asked, &scratch)
		if reject != nil {
			reject.Index = i
			page.Rejects = append(page.Rejects, *reject)
			page.Keys = append(page.Keys, rejectKey(*reject, item))
			continue
		}
		page.Keys = append(page.Keys, record.KeyOf(in.ProviderID))
		if outside {
			page.Outside++
			continue
		}
		if in.UpdatedAt.After(page.Newest) {
			page.Newest = in.UpdatedAt
		}
		incoming = append(incoming, in)
	}
	page.Records, page.Duplicate = record.Dedupe(incoming)
	return page, nil
}

// rejectKey tells a rejected item from others as well as it can: by its id, or
// by its bytes if it has none.
func rejectKey(r record.Reject, item document.Item) record.Key {
	if r.ProviderID != "" {
		return record.KeyOf(r.ProviderID)
	}
	return record.KeyOf(string(item.Raw))
}

func start(body []byte) string {
	return strings.ToValidUTF8(string(body[:min(len(body), 60)]), "?")
}

func (r *Reader) says(doc *document.Page) paging.Observation {
	o := paging.Observation{Items: len(doc.Items)}
	if slot := r.page.next; slot >= 0 {
		o.Token, _ = doc.Values[slot].Text()
	}
	if slot := r.page.hasMore; slot >= 0 {
		if more, ok := doc.Values[slot].Bool(); ok {
			o.HasMore = &more
		}
	}
	if slot := r.page.total; slot >= 0 {
		if total, ok := doc.Values[slot].Int(); ok {
			o.Total = &total
		}
	}
	return o
}

// readItem maps one item. A defect of ours that panics on one strange item must
// cost that item, not the page.
func (r *Reader) readItem(item document.Item, asked Asked, scratch *[]byte) (in record.Incoming, reject *record.Reject, outside bool) {
	refuse := func(reason record.Reason, path document.Path, format string, args ...any) *record.Reject {
		text := ""
		if !path.IsZero() {
			text = path.String()
		}
		return &record.Reject{ProviderID: in.ProviderID, Reason: reason, Path: text, Detail: fmt.Sprintf(format, args...), Raw: item.Raw}
	}
	defer func() {
		if p := recover(); p != nil {
			reject = refuse(record.MappingFailed, document.Path{}, "panic: %v", p)
		}
	}()
	id, isText := item.Values[r.item.id].Text()
	if r.config.IDCase == "LOWER" {
		id = strings.ToLower(id)
	}
	switch {
	case item.Err != nil:
		return in, refuse(record.BadItem, document.Path{}, "%v", item.Err), false
	case !isText || id == "":
		return in, refuse(record.MissingID, r.config.ID, "no id"), false
	case len(id) > record.MaxIDBytes:
		return in, refuse(record.LongID, r.config.ID, "id has %d bytes, at most %d are stored", len(id), record.MaxIDBytes), false
	case !utf8.ValidString(id):
		return in, refuse(record.BadID, r.config.ID, "id is not valid UTF-8"), false
	}
	in = record.Incoming{ProviderID: id, FetchAt: asked.FetchAt, MappingID: asked.MappingID, Payload: item.Raw}
	var err error
	if in.UpdatedAt, err = parseInstant(item.Values[r.item.updated]); err != nil {
		return in, refuse(record.BadUpdatedAt, r.config.UpdatedAt, "%v", err), false
	}
	if slot := r.item.filtered; slot >= 0 {
		// Without a readable date we cannot know; then the item is kept.
		if at, err := parseInstant(item.Values[slot]); err == nil && !asked.Window.Contains(at) {
			return in, nil, true
		}
	}
	if slot := r.item.version; slot >= 0 {
		in.SourceVersion, _ = item.Values[slot].Int()
	}
	for _, f := range r.item.fields {
		if f.required && (!item.Values[f.slot].Present() || item.Values[f.slot].IsNull()) {
			return in, refuse(record.MissingField, r.config.Fields[f.name], "output field %q is required", f.name), false
		}
	}
	*scratch = r.appendFields((*scratch)[:0], item)
	in.Fields = bytes.Clone(*scratch) // kept in its final size
	canonical, err := r.canonical.Append((*scratch)[:0], item.Raw)
	if err != nil {
		return in, refuse(record.BadItem, document.Path{}, "%v", err), false
	}
	*scratch = canonical
	in.ContentHash = sha256.Sum256(canonical)
	return in, nil, false
}

// appendFields writes the mapped record, a JSON object in order of field names, into an
// empty buffer.
func (r *Reader) appendFields(out []byte, item document.Item) []byte {
	out = append(out, '{')
	for _, f := range r.item.fields {
		value := item.Values[f.slot]
		if !value.Present() || value.IsNull() {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, f.key...)
		out = append(out, ':')
		out = append(out, value.Raw()...)
	}
	return append(out, '}')
}
