package ingest

import "testing"

func TestTrust13WhichOldPlansGetNowhere(t *testing.T) {
	failed, page, told := PastRun{Failed: true}, PastRun{Pages: 2, Failed: true}, PastRun{}
	for name, c := range map[string]struct {
		plan OutlivedPlan
		want bool
	}{
		"never tried":                          {OutlivedPlan{Open: 3}, false},
		"one run, no page":                     {OutlivedPlan{Open: 3, Runs: []PastRun{failed}}, true},
		"stopped by hand before a page came":   {OutlivedPlan{Open: 3, Runs: []PastRun{told}}, true},
		"reads on":                             {OutlivedPlan{Open: 3, Runs: []PastRun{page, failed, failed, failed}}, false},
		"two failed since a page":              {OutlivedPlan{Open: 3, Failing: 2, Runs: []PastRun{failed, failed, page}}, false},
		"three failed since a page":            {OutlivedPlan{Open: 3, Failing: 2, Runs: []PastRun{failed, told, failed, failed, page}}, true},
		"told to wait since a page":            {OutlivedPlan{Open: 3, Runs: []PastRun{told, told, told, page}}, false},
		"all that is left failed":              {OutlivedPlan{Open: 1, Failing: 1, Runs: []PastRun{page}}, true},
		"nothing is left":                      {OutlivedPlan{Runs: []PastRun{failed, failed, failed}}, false},
		"one of two failed, the other came on": {OutlivedPlan{Open: 2, Failing: 1, Runs: []PastRun{failed, page}}, false},
	} {
		if got := c.plan.IsStuck(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
