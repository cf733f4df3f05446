package view_test

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
)

// Of many gaps of one endpoint the first are told, and one stands for the rest; other kinds
// are told one by one.
func TestFindingsAlikeAreFolded(t *testing.T) {
	var all []view.Finding
	for range 5 {
		all = append(all, view.Finding{Code: view.FoundGap, Subject: view.Subject{Source: "a"}}, view.Finding{Code: view.FoundPaused})
	}
	all = append(all, view.Finding{Code: view.FoundGap, Subject: view.Subject{Source: "b"}})
	told, more := map[view.FindingCode]int{}, 0
	for _, f := range view.FoldFindings(all) {
		told[f.Code]++
		more += f.More
	}
	if told[view.FoundGap] != view.ToldAlike+1+1 || told[view.FoundPaused] != 5 || more != 2 {
		t.Errorf("%v, %d more", told, more)
	}
}
