package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func chain(n int) (out []Entry) {
	previous := Root()
	for i := range n {
		e := Entry{ID: int64(i + 1), At: time.UnixMicro(int64(1000 + i)), Actor: "jane", Action: "task.retry", Object: fmt.Sprint("task/", i), Reason: "why", Detail: json.RawMessage(`{"n":1}`), Previous: previous}
		e.Hash = e.Sum()
		out, previous = append(out, e), e.Hash
	}
	return out
}

func verify(entries []Entry, noted ...Noted) Report {
	c := NewChain(noted...)
	for _, e := range entries {
		c.Add(e)
	}
	return c.Report()
}

func problems(r Report) (out []Problem) {
	for _, f := range r.Findings {
		out = append(out, f.Problem)
	}
	return out
}

// A37: whatever somebody does to the entries shows, if the head is known.
func TestTamperingShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := chain(rapid.IntRange(2, 8).Draw(t, "entries"))
		head := Noted{entries[len(entries)-1].Hash, "the log"}
		if r := verify(entries, head, Noted{Root(), "an archive without any"}); len(r.Findings) != 0 || r.Head != head.Hash || r.Entries != len(entries) {
			t.Fatalf("untouched: %+v", r)
		}
		at := rapid.IntRange(0, len(entries)-1).Draw(t, "at")
		forge := func(from int) { // all hashes from there on fit again
			for i := from; i < len(entries); i++ {
				if i > 0 {
					entries[i].Previous = entries[i-1].Hash
				}
				entries[i].Hash = entries[i].Sum()
			}
		}
		how := rapid.SampledFrom([]string{"actor", "reason", "object", "action", "detail", "at", "delete", "cut", "swap", "insert", "edit and rehash", "rewrite", "empty", "id"}).Draw(t, "how")
		switch how {
		case "actor":
			entries[at].Actor = "john"
		case "reason":
			entries[at].Reason = ""
		case "object":
			entries[at].Object += "0"
		case "action":
			entries[at].Action = "task.cancel"
		case "detail":
			entries[at].Detail = json.RawMessage(`{"n": 1}`)
		case "at":
			entries[at].At = entries[at].At.Add(time.Microsecond)
		case "id":
			entries[at].ID += rapid.SampledFrom([]int64{-1, 1, 1000}).Draw(t, "by")
		case "delete":
			entries = slices.Delete(entries, at, at+1)
		case "cut":
			entries = entries[:at]
		case "swap":
			other := (at + 1) % len(entries)
			entries[at], entries[other] = entries[other], entries[at]
		case "insert":
			extra := Entry{ID: 99, Actor: "john", Previous: entries[at].Hash}
			extra.Hash = extra.Sum()
			entries = slices.Insert(entries, at, extra)
		case "edit and rehash":
			entries[at].Actor = "john"
			entries[at].Hash = entries[at].Sum()
		case "rewrite":
			entries[at].Actor = "john"
			forge(at)
		case "empty":
			entries = nil
		}
		if r := verify(entries, head); len(r.Findings) == 0 {
			t.Fatalf("%s at %d was not noticed", how, at)
		}
	})
}

// Without a noted head the end can be cut off unseen: that is why it is noted.
func TestOnlyANotedHeadShowsACutEnd(t *testing.T) {
	entries := chain(3)
	if r := verify(entries[:2]); len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}
	if r := verify(entries[:2], Noted{entries[2].Hash, "the log"}); !slices.Equal(problems(r), []Problem{Lost}) {
		t.Errorf("%+v", r)
	}
}

// Entries of former versions, whose hash does not cover their number, still fit; the
// next entry of today holds the number of the last of them.
func TestEntriesOfFormerVersionsFit(t *testing.T) {
	entries := chain(4)
	for i := range entries {
		if i > 0 {
			entries[i].Previous = entries[i-1].Hash
		}
		if entries[i].Hash = entries[i].Sum(); i < 3 {
			entries[i].Hash = entries[i].oldSum()
		}
	}
	if r := verify(entries); len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}
	entries[2].ID, entries[3].ID = 30, 31
	entries[3].Hash = entries[3].Sum()
	entries[2].ID = 29
	if r := verify(entries); !slices.Equal(problems(r), []Problem{Edited}) {
		t.Errorf("%+v", r)
	}
}

// An archive that holds no head, cannot be read, or denies entries that are older than
// it vouches for nothing, and that is told.
func TestTrust08ArchivesThatCannotVouch(t *testing.T) {
	entries := chain(3)
	old, young := entries[0].At.Add(-time.Second), entries[2].At.Add(time.Second)
	for name, c := range map[string]struct {
		w    Witness
		want []Problem
	}{
		"with the head":            {Witness{File: "a", Begun: young, Head: entries[2].Hash}, nil},
		"with an earlier head":     {Witness{File: "a", Begun: young, Head: entries[0].Hash}, nil},
		"with a head that is gone": {Witness{File: "a", Begun: young, Head: "ff"}, []Problem{Lost}},
		"without a head":           {Witness{File: "a", Begun: young}, []Problem{NoHead}},
		"that cannot be read":      {Witness{File: "a", Begun: young, Broken: "it is damaged"}, []Problem{Unreadable}},
		"of before the first":      {Witness{File: "a", Begun: old, Head: Root()}, nil},
		"that denies the entries":  {Witness{File: "a", Begun: young, Head: Root()}, []Problem{NoHead}},
	} {
		chain := NewChain()
		chain.Call(c.w)
		for _, e := range entries {
			chain.Add(e)
		}
		r := chain.Report()
		if !slices.Equal(problems(r), c.want) || r.Tampered() != slices.Contains(c.want, Lost) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
