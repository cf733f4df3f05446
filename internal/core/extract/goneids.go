package extract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/record"
)

// readGone reads an item that only names records that are gone, and reports whether it is one. Each id counts as an
// item of the page: each becomes a tombstone, or a reject (I4). They have no date of their own, so the time of
// asking orders them, for a file its date.
func (r *Reader) readGone(item entry, asked Asked, page *Page) (gone []record.Incoming, is bool) {
	if r.item.goneIDs.IsZero() || item.Err != nil {
		return nil, false
	}
	values := listedIn(r.item.goneIDs, item.facts)
	if len(values) == 0 {
		return nil, false
	}
	page.Seen += len(values) - 1
	for _, value := range values {
		in := record.Incoming{Gone: true, Dateless: true, FetchAt: asked.FetchAt, MappingID: asked.MappingID}
		refused := r.setGoneID(&in, value, asked)
		if refused != nil {
			reject := record.Reject{Reason: refused.reason, Path: refused.where, Detail: refused.detail, Raw: value, FetchAt: asked.FetchAt}
			page.Rejects = append(page.Rejects, reject)
			page.Keys = append(page.Keys, record.KeyOf(string(value)))
			continue
		}
		page.Keys = append(page.Keys, record.KeyOf(in.ProviderID))
		gone = append(gone, in)
	}
	return gone, true
}

// setGoneID takes an id out of a list of ids that are gone.
func (r *Reader) setGoneID(in *record.Incoming, value []byte, asked Asked) *refusal {
	id, err := plainText(value)
	if id = asked.Secrets.String(strings.TrimSpace(id)); r.config.IDCase == "LOWER" {
		id = strings.ToLower(id)
	}
	switch {
	case err != nil:
		return refuseItem(record.BadID, r.config.GoneIDs, "goneIds: %v", err)
	case id == "":
		return refuseItem(record.MissingID, r.config.GoneIDs, "an id that should be gone is empty")
	case len(id) > record.MaxIDBytes:
		return refuseItem(record.LongID, r.config.GoneIDs, "%d bytes, at most %d are stored", len(id), record.MaxIDBytes)
	}
	in.ProviderID = id
	return nil
}

// plainText returns a text or a number of JSON.
func plainText(value []byte) (string, error) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text, nil
	}
	var number json.Number
	if err := json.Unmarshal(value, &number); err != nil {
		return "", fmt.Errorf("%s is neither a text nor a number", showPart(value, maxShown))
	}
	return number.String(), nil
}

// listedIn returns the values at a place, of an array each of its own.
func listedIn(p valueSlot, values facts) []json.RawMessage {
	v := p.valueIn(values)
	if !v.Present() || v.IsNull() {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(v.Raw(), &list) == nil {
		return list
	}
	return []json.RawMessage{v.Raw()}
}
