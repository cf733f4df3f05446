package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/upsim"
)

const gapFile = `source: sim
name: A simulated library
http: {baseUrl: "%s", allowHttp: true, allowPrivate: true}
rate: {perSecond: 5000, concurrency: 2}
endpoints:
  works:
    role: SEARCH
    request: {path: /forms/search, query: {from: "${filter.from}", until: "${filter.to}", size: "${page.size}", offset: "${page.offset}"}}
    filter: {field: updated, precision: SECOND, from: INCLUSIVE, to: EXCLUSIVE}
    paging: {type: OFFSET, size: 100, stable: true, expectTotal: true}
    response: {items: $.ids, id: $, total: $.total}
    details: {endpoint: records, batchSize: 20}
  records:
    role: DETAIL
    request: {path: /forms/records, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, version: $.version, fields: {title: $.title}}
`

// The whole program against an upstream whose detail endpoint lacks 20 of 400 records
// for the time of one update: what is stored is what the upstream has, before, in
// between and after.
func TestBelieve06APassingGapOfTheSimulator(t *testing.T) {
	data := upsim.NewDataset(upsim.Config{Seed: 7, From: march(1), To: march(5), PerDay: 100, Flat: true})
	server, err := upsim.NewServer(data, upsim.Options{})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	d := newDesk(t)
	d.empty()
	d.expect(0, "source", "apply", d.write("sim.yaml", fmt.Sprintf(gapFile, server.URL())), "--reason", "test")
	d.expect(0, "harvest", "sim", "--from", "2025-03-01", "--to", "2025-03-05")
	lacks, n := map[string]bool{}, 0
	var have []check.Item
	var ids []string
	for truth := range data.Heads() {
		ids = append(ids, truth.DOI)
		have = append(have, check.Item{ID: truth.DOI, Stamp: truth.Indexed, Version: int64(truth.Version)})
		if n++; n%20 == 0 {
			lacks[truth.DOI] = true
		}
	}
	isTruth := func(when string) {
		t.Helper()
		db := d.db()
		defer db.Close()
		problems, err := check.Lost(t.Context(), db, "sim", "works", have, nil, func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", when, p)
		}
		if r := d.expect(0, "data", "count", "sim", "-o", "json"); len(have) != 400 || strings.Contains(r.out, `"gone": 20`) {
			t.Errorf("%s: %s", when, r.out)
		}
	}
	isTruth("after the harvest")
	server.SetGap(func(id string) bool { return lacks[id] })
	all := d.write("ids.txt", strings.Join(ids, "\n"))
	s := summaryOf(t, d.expect(0, "update", "sim", "--ids", all, "--reason", "look", "-o", "json"))
	if s.Stats.Missed.Missing != 20 || s.Stats.Gone != 0 || s.Stats.Unchanged < 380 {
		t.Errorf("%+v", s.Stats)
	}
	isTruth("in the gap")
	server.SetGap(nil)
	s = summaryOf(t, d.expect(0, "update", "sim", "--ids", all, "--reason", "look", "-o", "json"))
	if s.Stats.Missed.Total() != 0 || s.Stats.Gone != 0 || s.Stats.Updated != 0 {
		t.Errorf("%+v", s.Stats)
	}
	isTruth("after the gap")
	if r := d.run("status", "sim"); strings.Contains(r.out, "missing since") {
		t.Error(r.out)
	}
}
