package registry

import "testing"

// §11.1: filling is for one operation; the levels decide, as for every key.
func TestFillOnlyGoesThroughTheLevels(t *testing.T) {
	src := decode(t, string(read(t, "testdata/good/fill-only.yaml")))
	for _, tc := range []struct {
		endpoint, operation string
		want                bool
	}{
		{"works", "HARVEST", false}, {"works", "BACKFILL", false}, {"works", "UPDATE", true}, {"people", "UPDATE", false},
	} {
		r, err := Resolve(src, tc.endpoint, tc.operation, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Response.FillOnly != tc.want {
			t.Errorf("%s %s: %t", tc.endpoint, tc.operation, r.Response.FillOnly)
		}
	}
}
