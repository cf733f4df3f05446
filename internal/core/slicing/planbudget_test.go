package slicing

import (
	"strings"
	"testing"
)

func TestTrust05PlanBudgetEndsTheCutting(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config Config
		use    PlanUse
		says   string // empty: it may
	}{
		{"the first cut", Config{}, PlanUse{Slices: 1, Requests: 10_000}, ""},
		{"many good slices", Config{}, PlanUse{Slices: 1000, Requests: 900_000, Records: 90_000_000}, ""},
		{"small slices", Config{MaxRequests: 6}, PlanUse{Slices: 1, Requests: 6000}, ""},
		{"no end", Config{}, PlanUse{Slices: 1, Requests: 210_000}, "slicing.planRequests of 210000"},
		{"no end of items", Config{}, PlanUse{Slices: 1, Records: 21_000_000}, "slicing.planRecords of 21000000"},
		{"no end of bytes", Config{}, PlanUse{Slices: 1, Bytes: 210_000_000_000}, "slicing.planBytes of 210000000000"},
		{"large slices", Config{MaxRequests: 50_000}, PlanUse{Slices: 1, Requests: 210_000}, ""},
		{"requests", Config{PlanRequests: 500}, PlanUse{Slices: 50, Requests: 500}, "slicing.planRequests of 500"},
		{"records", Config{PlanRecords: 7}, PlanUse{Slices: 50, Records: 8}, "slicing.planRecords of 7"},
		{"bytes", Config{PlanBytes: 9}, PlanUse{Slices: 50, Bytes: 10}, "slicing.planBytes of 9"},
	} {
		err := tc.config.MayCut(tc.use)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
