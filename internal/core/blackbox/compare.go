package blackbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// Why something differs.
var (
	byProgram  = blame{Ours, "the same bytes under the same snapshot: this program reads or renders differently from the one that ran then"}
	byMapping  = blame{Ours, "the same bytes: the source file was different then"}
	byUpstream = blame{Source, "the same question: the upstream answers differently now"}
)

// Declared compares two readings of the same answer under two snapshots.
func (r *Report) Declared(then, now *Reading) { r.compareReadings(then, now, byMapping, true) }

// Answered compares two answers read under the same snapshot.
func (r *Report) Answered(then, now *Reading) {
	r.noteDifference(onStatus, strconv.Itoa(then.Status), strconv.Itoa(now.Status), byUpstream)
	before := len(r.Differences) + len(r.Records)
	r.compareReadings(then, now, byUpstream, false)
	if then.SHA256 != now.SHA256 && before == len(r.Differences)+len(r.Records) {
		r.Note("the bytes of the answer differ, but what was read from them does not")
	}
}

// compareReadings holds two readings against each other. Tokens are compared where they
// must be the same; an upstream may name the same place anew each time.
func (r *Report) compareReadings(a, b *Reading, by blame, tokens bool) {
	if a.Err != nil || b.Err != nil {
		r.noteDifference(onPage, verdictText(a.Err), verdictText(b.Err), by)
		return
	}
	r.noteDifference(onItems, itemsText(a), itemsText(b), by)
	if tokens || a.counted {
		r.noteDifference(onNext, a.Next, b.Next, by)
	} else {
		r.noteDifference(onNext, nextText(a), nextText(b), by)
	}
	r.compareRejects(a.Rejects, b.Rejects, by)
	if a.found && b.found {
		r.compareFound(a.IDs(), b.IDs(), by)
		return
	}
	r.compareRecords(a.Records, b.Records, by)
}

func verdictText(err *fault.Error) string {
	if err == nil {
		return "a page"
	}
	return err.Error()
}

func itemsText(r *Reading) string {
	text := fmt.Sprint(r.Seen)
	if r.Total != nil {
		text += fmt.Sprintf(" of %d", *r.Total)
	}
	return text + fmt.Sprintf(", %d twice, %d outside, %d rejected", r.Twice, r.Outside, len(r.Rejects))
}

func nextText(r *Reading) string {
	if r.Named {
		return "a next page is named"
	}
	return "no next page is named"
}

func (r *Report) compareRejects(then, now []record.Reject, by blame) {
	one, other := rejectsByKey(then), rejectsByKey(now)
	for _, key := range slices.Sorted(maps.Keys(one)) {
		if _, still := other[key]; !still {
			r.noteDifference(onReject, one[key], "-", by)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(other)) {
		if _, before := one[key]; !before {
			r.noteDifference(onReject, "-", other[key], by)
		}
	}
}

func rejectsByKey(list []record.Reject) map[string]string {
	out := map[string]string{}
	for _, bad := range list {
		out[bad.Key()] = fmt.Sprintf("item %d %s: %s %s %s", bad.Index, bad.ProviderID, bad.Reason, bad.Path, bad.Detail)
	}
	return out
}

func (r *Report) compareFound(then, now []string, by blame) {
	known := setOf(now)
	for _, id := range then {
		if !known[id] {
			r.Records = append(r.Records, RecordChange{id, Missing, nil, by.cause})
		}
	}
	known = setOf(then)
	for _, id := range now {
		if !known[id] {
			r.Records = append(r.Records, RecordChange{id, Added, nil, by.cause})
		}
	}
}

func setOf(ids []string) map[string]bool {
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out
}

func (r *Report) compareRecords(then, now []record.Incoming, by blame) {
	left := make(map[string]*record.Incoming, len(now))
	for i := range now {
		left[now[i].ProviderID] = &now[i]
	}
	for i := range then {
		was := &then[i]
		is, still := left[was.ProviderID]
		if !still {
			r.Records = append(r.Records, RecordChange{was.ProviderID, Missing, nil, by.cause})
			continue
		}
		delete(left, was.ProviderID)
		if fields := incomingFields(was, is); len(fields) > 0 || was.ContentHash != is.ContentHash && by.cause == Source {
			r.Records = append(r.Records, RecordChange{was.ProviderID, Changed, fields, by.cause})
		}
	}
	for i := range now {
		if _, new := left[now[i].ProviderID]; new {
			r.Records = append(r.Records, RecordChange{now[i].ProviderID, Added, nil, by.cause})
		}
	}
}

// incomingFields returns the fields in which two items of one id differ, and what the
// program itself knows of them.
func incomingFields(was, is *record.Incoming) []FieldChange {
	out := changedFields(was.Fields, is.Fields)
	known := func(name string, one, other any) {
		if one != other {
			out = append(out, FieldChange{name, jsonText(one), jsonText(other)})
		}
	}
	if !was.UpdatedAt.Equal(is.UpdatedAt) {
		known("(updatedAt)", was.UpdatedAt.UTC(), is.UpdatedAt.UTC())
	}
	known("(version)", was.SourceVersion, is.SourceVersion)
	known("(gone)", was.Gone, is.Gone)
	known("(mergedInto)", was.MergedInto, is.MergedInto)
	return out
}

func jsonText(value any) json.RawMessage {
	if at, ok := value.(time.Time); ok && at.IsZero() {
		return nil
	}
	out, _ := json.Marshal(value) // texts, numbers, instants
	return out
}

// changedFields compares two objects of output fields, member by member. What is
// no object is compared as a whole.
func changedFields(was, is []byte) (out []FieldChange) {
	if bytes.Equal(was, is) {
		return nil
	}
	before, after := membersOf(was), membersOf(is)
	if before == nil || after == nil {
		return []FieldChange{{"(fields)", was, is}}
	}
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if one, other := compactJSON(before[name]), compactJSON(after[name]); !bytes.Equal(one, other) {
			out = append(out, FieldChange{name, one, other})
		}
	}
	return out
}

func membersOf(object []byte) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	if len(object) > 0 && json.Unmarshal(object, &out) != nil {
		return nil
	}
	return out
}

// compactJSON returns JSON without blanks: a database or a file may write it in its own
// way.
func compactJSON(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return value
	}
	out, err := jsontext.AppendFormat(nil, value, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(false),
		jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return value
	}
	return out
}

// Asks renders the request anew and compares it with the one that was sent.
func (r *Report) Asks(b *Box, p *spec.Program, role Role, now bool) {
	sent := b.Request()
	request, err := b.Ask(p, role)
	if err != nil {
		r.Note("the request could not be rendered again: " + err.Error())
		return
	}
	by := byProgram
	if now {
		by = byMapping
	}
	digest := exchange.DigestRequest(request)
	r.Request = &digest
	if sent == nil {
		r.Note("the request that was sent was not kept")
		return
	}
	sent.HidePeople() // one of a program that did not yet
	r.noteDifference(onRequest, sent.Method+" "+sent.URL, digest.Method+" "+digest.URL, by)
	r.noteDifference(onRequest, sent.Body, digest.Body, by)
	for _, name := range headerNames(sent.Headers, digest.Headers) {
		r.noteDifference(onRequest, name+": "+sent.Headers[name], name+": "+digest.Headers[name], by)
	}
}

func headerNames(a, b map[string]string) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}
