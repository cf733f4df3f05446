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
		how := rapid.SampledFrom([]string{"actor", "reason", "object", "action", "detail", "at", "delete", "cut", "swap", "insert", "edit and rehash", "rewrite", "empty"}).Draw(t, "how")
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
