package webui

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// evidence is what was kept of one page: what was asked, what came back, what became of it.
// It was masked before it was kept (I12).
type evidence struct {
	view.BatchDetail
	Asked     string // the request, as it is read
	Answered  string // the answer
	Sample    string // its beginning
	Bytes     int64
	Took      int64 // ms
	Digest    string
	Items     string
	Requests  string
	Gate      string
	Upstream  string
	Automatic string
	NextPage  string
	Before    string
	After     string
	Kept      bool // its body can be read again
}

// shownToken is how much of a token is shown; all of it is in the JSON of the command line.
const shownToken = 64

// readEvidence reads the evidence of a batch that the caller may know of.
func (s *site) readEvidence(ctx context.Context, a *ask, id int64) (*evidence, error) {
	b, err := s.Work.Tasks.Batch(ctx, id)
	if err != nil {
		return nil, err
	}
	if !a.Caller.Sees(b.Source) {
		return nil, unseen("batch", id)
	}
	e := &evidence{BatchDetail: b, Items: wording.ItemsText(b.Stats), Requests: wording.RequestsText(b.Exchange), Gate: wording.GateText(b.Exchange), Upstream: wording.UpstreamTimeText(b.Exchange),
		Automatic: wording.AutomaticText(b.Exchange), NextPage: wording.NextPageText(b.Batch), Before: wording.Shorten(b.BeforeToken, shownToken), After: wording.Shorten(b.AfterToken, shownToken),
		Kept: b.Body.State == view.BodyKept}
	e.Asked = requestLines(b.Request)
	e.readAnswer(b.Response)
	return e, nil
}

// requestLines writes a request as it is sent: one parameter a line.
func requestLines(kept json.RawMessage) string {
	var r exchange.RequestDigest
	if len(kept) == 0 || json.Unmarshal(kept, &r) != nil {
		return "nothing was kept of it"
	}
	return requestText(r)
}

func requestText(r exchange.RequestDigest) string {
	address, query, _ := strings.Cut(r.URL, "?")
	lines := []string{r.Method + " " + address}
	mark := "  ?"
	for one := range strings.SplitSeq(query, "&") {
		if one != "" {
			lines, mark = append(lines, mark+wording.Shorten(one, 400)), "  &"
		}
	}
	lines = append(lines, headerLines(r.Headers)...)
	if r.Credential != "" {
		lines = append(lines, "signed with the credential "+r.Credential)
	}
	if r.RedirectedTo != "" {
		lines = append(lines, "sent on to "+r.RedirectedTo)
	}
	if r.Body != "" {
		lines = append(lines, "", r.Body)
	}
	return strings.Join(lines, "\n")
}

func headerLines(of map[string]string) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, name+": "+wording.Shorten(of[name], 400))
	}
	return out
}

func (e *evidence) readAnswer(kept json.RawMessage) {
	var r exchange.ResponseDigest
	if len(kept) == 0 || json.Unmarshal(kept, &r) != nil || r.Status == 0 {
		e.Answered = "no answer came"
		return
	}
	e.Answered = strings.Join(append([]string{fmt.Sprintf("HTTP %d", r.Status)}, headerLines(r.Headers)...), "\n")
	e.Sample, e.Bytes, e.Took, e.Digest = r.Sample, int64(r.Bytes), r.TookMS, r.SHA256
}

// batchPage is one page of the upstream on its own: the address that alerts and errors have.
type batchPage struct {
	Proof *evidence
	Task  part[view.TaskDetail]
}

// showBatch answers what was asked for a page and what came back.
func (s *site) showBatch(a *ask) (page, error) {
	id, err := a.number()
	if err != nil {
		return page{}, err
	}
	e, err := s.readEvidence(a.Context(), a, id)
	if err != nil {
		return page{}, err
	}
	b := batchPage{Proof: e}
	b.Task = load(a, "what happens to the task", func(ctx context.Context) (view.TaskDetail, error) { return s.Work.Tasks.Task(ctx, e.TaskID) })
	return page{Template: "batch", Title: batchTitle(e), Lead: fmt.Sprintf("%s %s, page %d of run %d", e.Source, e.Operation, e.Page, e.RunID), Crumbs: batchWay(e, ""), Body: b}, nil
}

func batchTitle(e *evidence) string {
	switch ingest.BatchStatus(e.Status) {
	case ingest.BatchFailed:
		if e.Exchange != nil && e.Exchange.Status != 0 {
			return fmt.Sprintf("Batch %d failed: the upstream answered HTTP %d", e.ID, e.Exchange.Status)
		}
		return fmt.Sprintf("Batch %d failed: no usable answer came", e.ID)
	case ingest.BatchSucceeded:
		return fmt.Sprintf("Batch %d is stored: %s", e.ID, countText(e.Stats.Seen, "item"))
	}
	return fmt.Sprintf("Batch %d: %s", e.ID, saidStatuses["batch"][e.Status].word)
}

// batchWay is the way to a batch, and to what is done with it.
func batchWay(e *evidence, then string) []crumb {
	way := []crumb{{"Plans", "/plans"}, {fmt.Sprintf("plan %d", e.PlanID), local(fmt.Sprintf("/plans/%d", e.PlanID), "slice", e.SliceID, "run", e.RunID, "batch", e.ID)}}
	if then == "" {
		return append(way, crumb{Name: fmt.Sprintf("batch %d", e.ID)})
	}
	return append(way, crumb{fmt.Sprintf("batch %d", e.ID), fmt.Sprintf("/batches/%d", e.ID)}, crumb{Name: then})
}

// millisText writes milliseconds.
func millisText(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}
