package blackbox

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Reproduces compares the kept answer, read under the snapshot of then, with what
// the ledger says the batch did: the program of today is held to that.
func (r *Report) Reproduces(b *Box, role Role, read *Reading, heads []Head) {
	r.checkReproduction(b, role, read, heads, byProgram)
}

// Upstreams compares an answer of today with the ledger alone, where the answer of
// then is not kept any more.
func (r *Report) Upstreams(b *Box, role Role, read *Reading, heads []Head) {
	if kept := b.Response(); kept != nil && kept.SHA256 == read.SHA256 {
		r.checkReproduction(b, role, read, heads, byProgram)
		return
	}
	r.checkReproduction(b, role, read, heads, byUpstream)
}

func (r *Report) checkReproduction(b *Box, role Role, read *Reading, heads []Head, by blame) {
	if kept := b.Response(); kept != nil && by.cause == Ours {
		r.noteDifference(onStatus, strconv.Itoa(kept.Status), strconv.Itoa(read.Status), by)
		if !b.Scrubbed {
			r.noteDifference(onBody, kept.SHA256, read.SHA256, by)
		}
	}
	if !r.samePage(b, read, by) {
		return
	}
	if role.context.Ignored {
		r.Note("nothing was taken from this answer: the request only tested whether the upstream answers at all")
		return
	}
	r.sameAccount(b, role, read, by)
	if role.role == listPage || role.role == searchPage {
		r.sameNext(b, read, by)
	}
	if !read.found {
		r.decideAgain(b, role, read, heads, by)
	}
}

// samePage compares what the answer was taken for. Without a page there is nothing
// more to compare.
func (r *Report) samePage(b *Box, read *Reading, by blame) bool {
	switch {
	case b.Failed() && read.Err != nil:
		if now := read.Err.Error(); !strings.Contains(b.Batch.Error, now) {
			r.noteDifference(onPage, b.Batch.Error, now, by)
		}
		return false
	case b.Failed() && by.cause == Source:
		r.noteDifference(onPage, b.Batch.Error, "a page", by)
		return false
	case b.Failed():
		r.Note("the answer is a page; what failed came after it: " + b.Batch.Error)
		return false
	case read.Err != nil:
		r.noteDifference(onPage, "a page", read.Err.Error(), by)
		return false
	}
	return true
}

// sameNext compares where the batch and the reading go on, and notes a difference. An
// upstream may name the same place differently each time: then only whether a next page
// is named counts.
func (r *Report) sameNext(b *Box, read *Reading, by blame) {
	if by.cause == Source && !read.counted {
		was := *read
		was.Named = b.Batch.AfterToken != ""
		r.noteDifference(onNext, nextText(&was), nextText(read), by)
		return
	}
	r.noteDifference(onNext, b.Batch.AfterToken, read.Next, by)
}

// sameAccount compares the numbers of items (I4). What the batch accounts for
// beside the answer is known by its number only.
func (r *Report) sameAccount(b *Box, role Role, read *Reading, by blame) {
	s := b.Batch.Stats
	beside := role.context.Beside + role.context.Missed - s.Missed.Total()
	if role.role == detailPage && !role.known {
		beside = max(s.Seen-read.Seen, 0) // nobody wrote down how many
	}
	was := fmt.Sprintf("%d, %d twice, %d outside, %d left out", s.Seen-beside, s.Duplicate, s.Outside, s.Excluded)
	is := fmt.Sprintf("%d, %d twice, %d outside, %d left out", read.Seen, read.Twice, read.Outside, read.Excluded)
	r.noteDifference(onItems, was, is, by)
	now := map[string]bool{}
	for _, bad := range read.Rejects {
		now[bad.Key()] = true
	}
	others := 0 // rejects that do not follow from the answer
	for _, bad := range b.Rejects {
		switch {
		case bad.Reason == record.IDCollision:
			others++
		case bad.Reason == record.MissingDetail, bad.Reason == record.DetailFailed, bad.Reason == record.ItemFailed, now[bad.Key]:
		default:
			r.noteDifference(onReject, fmt.Sprintf("item %d %s: %s %s", bad.Index, bad.ProviderID, bad.Reason, bad.Path), "-", by)
		}
	}
	if n := len(read.Rejects); n > s.Quarantined || s.Quarantined > n+beside+others {
		r.noteDifference(onReject, fmt.Sprintf("%d rejected", s.Quarantined-beside-others), fmt.Sprintf("%d rejected", n), by)
	}
}

// decideAgain asks record.Decide about every item again, without writing, and compares
// with what the batch wrote and left alone.
func (r *Report) decideAgain(b *Box, role Role, read *Reading, heads []Head, by blame) {
	written, left := map[string]*Written{}, map[string]Head{}
	for i := range b.Written {
		written[b.Written[i].ID] = &b.Written[i]
	}
	for _, h := range heads {
		left[h.ID] = h
	}
	pruned := b.prunedVersions()
	if pruned > 0 {
		r.Note(fmt.Sprintf("%d of the %d versions it wrote are not kept any more", pruned, pruned+len(b.Written)))
	}
	r.Decisions = map[record.Action]int{}
	later := 0
	for i := range read.Records {
		in := &read.Records[i]
		if w := written[in.ProviderID]; w != nil {
			delete(written, in.ProviderID)
			r.Decisions[r.decideStored(w, in, by)]++
			continue
		}
		action, known := b.decideUntouched(left, in, pruned > 0)
		if !known {
			later++
		}
		r.Decisions[action]++
		if action.Publishes() {
			r.noteDifference(onDecided, in.ProviderID+" was left as it was", in.ProviderID+" "+string(action), by)
		}
	}
	if later > 0 {
		r.Note(fmt.Sprintf("%d records that it left as they were have changed since; they count as left as they were", later))
	}
	r.noteVanished(b, role, written, by)
	if pruned <= 0 && by.cause == Ours {
		now := r.Decisions[record.Unchanged] + r.Decisions[record.Touch] + r.Decisions[record.Stale]
		r.noteDifference(onDecided, fmt.Sprintf("%d left as they were", b.Batch.Stats.Unchanged+b.Batch.Stats.Stale), fmt.Sprintf("%d left as they were", now), by)
	}
}

// prunedVersions returns how many versions the batch wrote that are not kept any more.
func (b *Box) prunedVersions() int {
	s := b.Batch.Stats
	return s.Inserted + s.Updated + s.Gone - len(b.Written)
}

// noteVanished notes versions that the batch wrote and the answer does not have. A
// removal that was concluded and not read does not count.
func (r *Report) noteVanished(b *Box, role Role, unread map[string]*Written, by blame) {
	for _, w := range b.Written {
		if unread[w.ID] == nil || (w.Action == record.Remove || w.Action == "") && role.context.Beside+role.context.Missed > 0 {
			continue
		}
		r.Records = append(r.Records, RecordChange{w.ID, Missing, nil, by.cause})
	}
}

// decideStored decides about an item that the batch stored. The head before it is gone;
// what is left of it is that it was another content.
func (r *Report) decideStored(w *Written, in *record.Incoming, by blame) record.Action {
	var before *record.Head
	if w.Version > 1 {
		before = &record.Head{ProviderID: in.ProviderID, State: record.Active, Version: w.Version - 1}
	}
	action := record.Decide(before, *in)
	if w.Action != "" && action != w.Action {
		r.noteDifference(onDecided, w.ID+" "+string(w.Action), w.ID+" "+string(action), by)
	}
	fields := changedFields(w.Fields, in.Fields)
	if in.FillOnly && w.Version > 1 {
		fields = unfilledFields(w.Fields, in.Fields)
	}
	if was, is := w.UpdatedAt, window.Instant(in.UpdatedAt); w.hasOwnDate(in) && !was.Equal(is) {
		fields = append(fields, FieldChange{"(updatedAt)", jsonText(was.UTC()), jsonText(is.UTC())})
	}
	if len(fields) > 0 {
		r.Records = append(r.Records, RecordChange{w.ID, Changed, fields, by.cause})
	}
	return action
}

// hasOwnDate reports whether the date of the version was read from the item, and not
// taken from the version before it (record.Inherit).
func (w *Written) hasOwnDate(in *record.Incoming) bool {
	return w.Version == 1 || !in.UpdatedAt.IsZero() && !in.Remap && !in.FillOnly
}

// unfilledFields returns the fields an item would still fill after it has filled them
// (§11.1).
func unfilledFields(stored, incoming []byte) []FieldChange {
	merged, changed, err := record.Fill(stored, incoming)
	if err != nil || !changed {
		return nil
	}
	return changedFields(stored, merged)
}

// decideUntouched decides about an item that the batch left alone, against the head as it
// is now. One that was written since tells nothing.
func (b *Box) decideUntouched(heads map[string]Head, in *record.Incoming, pruned bool) (action record.Action, known bool) {
	head, stored := heads[in.ProviderID]
	if !stored && !pruned {
		return record.Decide(nil, *in), true
	}
	if !stored || head.BatchID >= b.Batch.ID {
		return record.Unchanged, false
	}
	if h := head.recordHead(); !record.Fills(h, *in) && !record.Remaps(h, *in) {
		return record.Decide(h, *in), true
	}
	return record.Unchanged, false // what it would add is in the body, which is not here
}

// Asked returns the ids whose heads a comparison needs: those the batch did not write.
func (b *Box) Asked(read *Reading) (ids []string) {
	if read.found || read.Err != nil {
		return nil
	}
	written := map[string]bool{}
	for _, w := range b.Written {
		written[w.ID] = true
	}
	for _, in := range read.Records {
		if !written[in.ProviderID] {
			ids = append(ids, in.ProviderID)
		}
	}
	return ids
}

// ActionOf returns what wrote a later version that is still the newest, where the
// message about it is gone.
func ActionOf(state record.State) record.Action {
	if state == record.Gone {
		return record.Remove
	}
	return record.Update
}
