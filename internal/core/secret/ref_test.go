package secret

import (
	"strings"
	"testing"
)

func TestRefTakesReferencesOnly(t *testing.T) {
	for _, good := range []string{"env:NCBI_API_KEY", "env:_x9", "file:/run/secrets/key", "file:key.txt", "exec:pass show ncbi"} {
		var r Ref
		if err := r.UnmarshalText([]byte(good)); err != nil || r.String() != good || r.IsZero() {
			t.Errorf("%s: %v, %q", good, err, r)
		}
		if scheme, name := r.Split(); scheme+":"+name != good {
			t.Errorf("%s splits into %q and %q", good, scheme, name)
		}
	}
	for _, bad := range []string{"", "s3cr3t-canary", "env:", "env: ", "env:9x", "env:s3cr3t-canary", "https://s3cr3t-canary", "Bearer:s3cr3t-canary"} {
		var r Ref
		err := r.UnmarshalText([]byte(bad))
		if err == nil {
			t.Errorf("%q was taken for a reference", bad)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error repeats what may be a secret: %v", err)
		}
		if !r.IsZero() {
			t.Errorf("%q left %q behind", bad, r)
		}
	}
}
