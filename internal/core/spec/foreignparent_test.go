package spec

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// A file whose parts are records of another source stands by itself, but nothing can be read with it until somebody looked how
// that source is harvested. Looking changes no question: the watermark is the same.
func TestAParentOfAnotherSourceIsAddedLater(t *testing.T) {
	own, err := compileParents(t, "", "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := compileParents(t, "{endpoint: repos,", "{source: hub, endpoint: repos,")
	if err != nil || !c.Snapshot.LacksParent() || !c.Snapshot.TakesForeignRecords() || c.Snapshot.Parent.String() != "hub/repos" {
		t.Fatalf("%+v, %v", c, err)
	}
	if own.Snapshot.LacksParent() || own.Snapshot.TakesForeignRecords() {
		t.Error("records of the source itself are taken for those of another one")
	}
	alone, err := c.Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alone.ReadParent("17", []byte(`{"id": 17, "full_name": "a/b"}`)); err == nil || !strings.Contains(err.Error(), "hub/repos") {
		t.Errorf("a record is read as nobody said: %v", err)
	}
	hub, _, err := registry.Decode("hub.yaml", []byte(strings.Replace(withParents, "source: forge", "source: hub", 1)))
	if err != nil {
		t.Fatal(err)
	}
	repos, err := registry.Resolve(hub, "repos", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	harvested, err := Compile(repos)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := c.WithParent(repos)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := harvested.Namespace()
	if bound.Snapshot.LacksParent() || bound.Snapshot.Parent.Namespace != want || want.Source != "hub" || bound.Snapshot.Parent.Dataset().Source != "hub" {
		t.Errorf("%+v, want %+v", bound.Snapshot.Parent, want)
	}
	before, _ := c.Namespace()
	after, _ := bound.Namespace()
	if same, _ := own.Namespace(); before != after || before == same {
		t.Errorf("questions %+v, %+v, and %+v of the source itself", before, after, same)
	}
	program, err := bound.Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	one, err := program.ReadParent("17", []byte(`{"id": 17, "full_name": "a/b"}`))
	if err != nil {
		t.Fatal(err)
	}
	q, err := program.InParent(one).Ask(referenceWindow, referenceWindow.To)
	if err != nil {
		t.Fatal(err)
	}
	if request, err := q.Page(paging.State{}); err != nil || request.Records != "hub/repos" {
		t.Errorf("a request does not say whose records it sends: %+v, %v", request, err)
	}
	only, err := c.Snapshot.Only("repo=17,state=open") // what a person typed
	if err != nil || only.TakesForeignRecords() {
		t.Errorf("%+v, %v", only.Parent, err)
	}
}
