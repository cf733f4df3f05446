package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

const partedSource = `source: sets
name: Sets
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1}
endpoints:
  works:
    role: SEARCH
    request: {path: "/${partition.set}", query: {from: "${filter.from}", to: "${filter.to}"}}
    filter: {field: updated, precision: SECOND}
    partitions: {set: {values: [cs, math]}}
    paging: {type: ONE}
    window: {safetyLag: PT0S, earliest: "2025-02-01"}
    slicing: {step: P1D}
    response: {items: $.works, id: $.id, updatedAt: $.updated, filtered: $.updated, fields: {title: $.id}}
`

// A set that is missing is seen, drawn, filled and waived by itself.
func TestAPartitionOnTheCommandLine(t *testing.T) {
	d := newDesk(t)
	var broken atomic.Bool
	broken.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() && r.URL.Path == "/math" {
			http.Error(w, "no such set", http.StatusNotFound)
			return
		}
		from, _ := time.Parse(time.RFC3339, r.FormValue("from"))
		_ = json.NewEncoder(w).Encode(map[string]any{"works": []any{map[string]any{"id": r.URL.Path + from.Format(time.DateOnly), "updated": from}}})
	}))
	t.Cleanup(server.Close)
	file := d.write("sets.yaml", fmt.Sprintf(partedSource, server.URL))
	d.expect(0, "db", "migrate")
	d.expect(0, "source", "apply", file, "--trust")
	d.expect(3, "harvest", "sets", "--from", "2025-03-01", "--to", "2025-03-04", "--now", "2025-03-04")
	all := d.expect(9, "coverage", "gaps", "sets")
	if strings.Count(all.out, "only set=math is missing: failed once") != 3 {
		t.Error(all.out)
	}
	if r := d.expect(0, "coverage", "gaps", "sets", "--partition", "set=cs"); !strings.Contains(r.out, "no gaps") {
		t.Error(r.out)
	}
	d.expect(9, "coverage", "gaps", "sets", "--partition", "set=math")
	if r := d.expect(2, "coverage", "gaps", "sets", "--partition", "set=maths"); !strings.Contains(r.err, "the source declares set=cs, set=math") {
		t.Error(r.err)
	}
	ahead := d.expect(0, "cursor", "show", "1", "--partition", "set=cs")
	behind := d.expect(0, "cursor", "show", "1", "--partition", "set=math")
	if !regexp.MustCompile(`value of set=cs +2025-03-04`).MatchString(ahead.out) || !regexp.MustCompile(`value of set=math +2025-03-01`).MatchString(behind.out) {
		t.Error(ahead.out, behind.out)
	}
	d.expect(2, "cursor", "show", "1", "--partition", "set=maths")
	done := d.expect(0, "coverage", "show", "sets", "--partition", "set=cs", "--to", "2025-03-04", "-o", "json")
	lost := d.expect(0, "coverage", "show", "sets", "--partition", "set=math", "--to", "2025-03-04", "-o", "json")
	if strings.Contains(done.out, `"done": false`) || !strings.Contains(lost.out, `"done": false`) {
		t.Error(done.out, lost.out)
	}
	waive := []string{"coverage", "waive", "sets", "--from", "2025-03-01", "--to", "2025-03-02", "--reason", "gone", "--yes", "--partition"}
	if r := d.expect(0, append(waive, "set=cs")...); !strings.Contains(r.err, "set=cs is not behind other partitions") {
		t.Error(r.out, r.err)
	}
	d.expect(0, append(waive, "set=math")...)
	broken.Store(false)
	if r := d.expect(0, "coverage", "fill", "sets", "--partition", "set=math"); strings.Count(r.out, "plan 2, 2 slices") != 1 {
		t.Error(r.out)
	}
	d.expect(0, "harvest", "sets", "--now", "2025-03-04")
	d.expect(0, "coverage", "gaps", "sets")
	r := d.expect(0, "backfill", "sets", "--from", "2025-02-10", "--to", "2025-02-12", "--partition", "set=math", "--name", "old")
	if !strings.Contains(r.out+r.err, "2") {
		t.Error(r.out, r.err)
	}
	if r := d.expect(0, "slice", "list", "--source", "sets", "--partition", "set=cs", "-o", "json"); strings.Contains(r.out, "2025-02-1") {
		t.Error("a backfill of one set read another one", r.out)
	}
	if r := d.expect(9, "coverage", "gaps", "sets", "--from", "2025-02-10", "--to", "2025-02-12"); !strings.Contains(r.out, "never asked for") {
		t.Error("a backfill of one set filled a gap of all", r.out)
	}
}

// Every way to see slices says which part of the list each is for: before they are stored, in lists, alone, and with what
// came of them. A part of a product has a name for both of its values.
func TestThePartitionOfASliceIsShown(t *testing.T) {
	d := newDesk(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"works": []}`)) }))
	t.Cleanup(server.Close)
	text := strings.NewReplacer("{set: {values: [cs, math]}}", "{set: {values: [cs, math]}, lang: {values: [en]}}", `"/${partition.set}"`, `"/${partition.lang}/${partition.set}"`).Replace(partedSource)
	file := d.write("sets.yaml", fmt.Sprintf(text, server.URL))
	d.expect(0, "db", "migrate")
	d.expect(0, "source", "apply", file, "--trust")
	window := []string{"--from", "2025-03-01", "--to", "2025-03-02", "--now", "2025-03-04"}
	rehearsed := d.expect(0, append([]string{"plan", "sets", "--dry-run"}, window...)...)
	d.fits(rehearsed.out)
	d.expect(0, append([]string{"harvest", "sets"}, window...)...)
	listed := d.expect(0, "slice", "list", "--plan", "1")
	d.fits(listed.out)
	tree := d.expect(0, "plan", "tree", "1")
	for _, one := range []string{rehearsed.out, listed.out, tree.out} {
		for _, set := range []string{"cs", "math"} {
			if !regexp.MustCompile(`(?m)\[2025-03-01, 2025-03-02\).* lang=en,set=` + set + `( |$)`).MatchString(one) {
				t.Errorf("no line names the window with lang=en,set=%s:\n%s", set, one)
			}
		}
	}
	var leaves []view.SliceTree
	d.decode(d.expect(0, "plan", "tree", "1", "-o", "json").out, &leaves)
	for _, leaf := range leaves {
		var of view.SliceReport
		d.decode(d.expect(0, "slice", "show", fmt.Sprint(leaf.ID), "-o", "json").out, &of)
		if leaf.Partition == "" || leaf.Partition != of.Partition {
			t.Errorf("slice %d is %q in the tree, and %q alone", leaf.ID, leaf.Partition, of.Partition)
		}
	}
	if len(leaves) != 2 || leaves[0].Partition == leaves[1].Partition {
		t.Errorf("%+v", leaves)
	}
	d.holds(d.expect(0, "slice", "show", fmt.Sprint(leaves[0].ID)).out, "partition        "+leaves[0].Partition)
}
