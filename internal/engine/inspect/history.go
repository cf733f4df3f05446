package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
)

// errPruned says why an old version is not there.
var errPruned = errors.New("it was removed by retention")

// errRowsMissing is damage: no command of this program leaves a database so.
var errRowsMissing = fmt.Errorf("%w, restore it from a copy", fault.ErrDamaged)

// History returns a record's versions, newest first: what each said, which work wrote
// it, and what became of its event.
func (i *Inspector) History(ctx context.Context, d view.Dataset, id string, l view.Looking) (h view.History, err error) {
	h = view.History{Source: d.Source, Endpoint: d.Endpoint, Versions: []view.Version{}}
	var body int64
	if h.Record, body, err = i.from.Records.Head(ctx, d, id); err != nil {
		return h, err
	}
	oldest, err := i.from.Records.OldestOf(ctx, body)
	if err != nil {
		return h, err
	}
	if oldest == 0 {
		return h, fmt.Errorf("record %q: %w: its current version is missing", id, errRowsMissing)
	}
	h.Removed = oldest - 1
	most := l.Most
	if l.Version != 0 {
		most = h.Version - l.Version + 1
	}
	all, err := i.from.Records.VersionsOf(ctx, body, max(1, most)+1) // and the one to compare the last with
	if err != nil {
		return h, fmt.Errorf("record %q: %w", id, err)
	}
	if all[0].Version != h.Version && l.Version == 0 || !bytes.Equal(all[0].Key, h.Key) {
		return h, fmt.Errorf("record %q: %w: it says that it has version %d, and points at version %d of a record that may be another", id, errRowsMissing, h.Version, all[0].Version)
	}
	h.Fields = all[0].Fields
	if l.Payload {
		h.Payload = jsonOrText(all[0].Raw)
	}
	if l.Version != 0 {
		return h, i.oneVersion(ctx, &h, all, l)
	}
	h.More = max(0, h.Version-h.Removed-l.Most)
	for n := range min(len(all), l.Most) {
		v := all[n]
		if l.Diff && n+1 < len(all) {
			v.Changed = changedFields(all[n+1].Fields, v.Fields)
		}
		v.Fields = nil // those of the current one are told once
		if err := i.explain(ctx, &v, h, false); err != nil {
			return h, err
		}
		h.Versions = append(h.Versions, v)
	}
	return h, nil
}

func (i *Inspector) oneVersion(ctx context.Context, h *view.History, all []view.Version, l view.Looking) error {
	if l.Version > h.Version {
		return fmt.Errorf("version %d of %q: %w: the newest is %d", l.Version, h.ID, fault.ErrNotFound, h.Version)
	}
	if l.Version <= h.Removed {
		return fmt.Errorf("version %d of %q: %w: %w; the oldest that is kept is %d", l.Version, h.ID, fault.ErrNotFound, errPruned, h.Removed+1)
	}
	n := slices.IndexFunc(all, func(v view.Version) bool { return v.Version == l.Version })
	if n < 0 {
		return fmt.Errorf("version %d of %q: %w: the versions after it do not lead to it", l.Version, h.ID, errRowsMissing)
	}
	v := all[n]
	if l.Diff && n+1 < len(all) {
		v.Changed = changedFields(all[n+1].Fields, v.Fields)
	}
	h.Record.Fields, h.Record.Payload = nil, nil
	err := i.explain(ctx, &v, *h, l.Payload)
	h.Versions = []view.Version{v}
	return err
}

// explain adds the work that wrote a version, and its event.
func (i *Inspector) explain(ctx context.Context, v *view.Version, h view.History, payload bool) (err error) {
	if v.Events, err = i.from.Records.OutgoingOf(ctx, v.Body); err != nil {
		return err
	}
	for _, e := range v.Events {
		if e.Source != h.Source || e.Endpoint != h.Endpoint || e.RecordID != h.ID {
			return fmt.Errorf("version %d of %q: %w: its event %d names %s %s %q; patra db check finds what is damaged", v.Version, h.ID, fault.ErrDamaged, e.ID, e.Source, e.Endpoint, e.RecordID)
		}
	}
	switch {
	case v.Version == h.Version:
		v.State = h.State
	case len(v.Events) > 0:
		v.State = view.StateOf(v.Version, event.Op(v.Events[0].Op))
	default:
		v.State = view.StateOf(v.Version, "")
	}
	if payload {
		v.Payload = jsonOrText(v.Raw)
	}
	origin, err := i.from.Records.OriginOf(ctx, v.Origin.BatchID)
	if err == nil {
		v.Origin = origin
		return nil
	}
	if !errors.Is(err, fault.ErrNotFound) {
		return err
	}
	b, file, err := i.from.Archive.ArchivedBatch(ctx, v.Origin.BatchID)
	if errors.Is(err, retention.ErrNotArchived) {
		return fmt.Errorf("version %d of %q: %w: batch %d, which wrote it, is neither in the database nor in an archive; patra db check finds what is damaged",
			v.Version, h.ID, fault.ErrDamaged, v.Origin.BatchID)
	}
	if err != nil {
		return nil // its archive cannot be read here: the version stays without its work
	}
	v.Origin = view.Origin{
		PlanID: b.PlanID, SliceID: b.SliceID, TaskID: b.TaskID, RunID: b.RunID, BatchID: b.ID, BatchNo: b.No, Operation: b.Operation, Raw: b.Raw,
		Where: view.Archived, Archive: file,
	}
	return nil
}

func changedFields(was, is []byte) (out []view.FieldChange) {
	for _, c := range blackbox.ChangedFields(was, is) {
		out = append(out, view.FieldChange(c))
	}
	return out
}

// jsonOrText returns JSON as it is and all else as a text: an upstream that sends XML has items that are no JSON.
func jsonOrText(raw []byte) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	text, _ := json.Marshal(string(raw)) // a text
	return text
}

// EventData returns what an event would have carried that went with a reference instead:
// the same bytes, so that its size and SHA-256 can be checked.
func (i *Inspector) EventData(ctx context.Context, ref event.Ref, how event.Content) ([]byte, error) {
	d, err := i.from.Archive.Dataset(ctx, ref.Source+"/"+ref.Endpoint)
	if err != nil {
		return nil, err
	}
	head, body, err := i.from.Records.Head(ctx, d, ref.RecordID)
	if err != nil {
		return nil, err
	}
	if ref.Version > head.Version {
		return nil, fmt.Errorf("version %d of %q: %w: the newest is %d", ref.Version, ref.RecordID, fault.ErrNotFound, head.Version)
	}
	all, err := i.from.Records.VersionsOf(ctx, body, head.Version-ref.Version+1)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", ref, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("event %s: %w: the current version of the record is missing", ref, errRowsMissing)
	}
	v := all[len(all)-1]
	if v.Version > ref.Version {
		return nil, fmt.Errorf("version %d of %q: %w: %w; the oldest that is kept is %d", ref.Version, ref.RecordID, fault.ErrNotFound, errPruned, v.Version)
	}
	if v.Version < ref.Version {
		return nil, fmt.Errorf("event %s: %w: the newest version that is stored is %d, the record says %d", ref, errRowsMissing, v.Version, head.Version)
	}
	return event.Data(event.Change{RecordID: ref.RecordID, Version: v.Version, UpdatedAt: v.UpdatedAt, FetchedAt: v.FetchedAt, Fields: v.Fields, Payload: v.Raw}, how), nil
}
