package fault

import "testing"

// To ignore is about one id that does not exist; what a source says otherwise
// of a status wins over the default.
func TestIgnores(t *testing.T) {
	for name, c := range map[string]struct {
		policy  RetryPolicy
		ignored []int
		kept    []int
	}{
		"default":  {RetryPolicy{}, []int{404, 410}, []int{400, 401, 403, 429, 451, 500, 503}},
		"declared": {RetryPolicy{IgnoreStatus: []int{451}}, []int{451}, []int{404, 410}},
		"given up": {RetryPolicy{GiveUpStatus: []int{404}}, []int{410}, []int{404}},
		"retried":  {RetryPolicy{RetryStatus: []int{410}}, []int{404}, []int{410}},
	} {
		for _, status := range c.ignored {
			if !c.policy.Ignores(status) {
				t.Errorf("%s: %d is not ignored", name, status)
			}
		}
		for _, status := range c.kept {
			if c.policy.Ignores(status) {
				t.Errorf("%s: %d is ignored", name, status)
			}
		}
	}
}
