package registry_test

import (
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// An exported source plans the same work: its snapshots have the fingerprints of
// the original.
func TestExportKeepsTheFingerprint(t *testing.T) {
	for _, code := range catalog.List() {
		text, err := catalog.Read(code)
		if err != nil {
			t.Fatal(err)
		}
		before, _, err := registry.Decode(catalog.File(code), text)
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := registry.Decode(filepath.Join("exported", catalog.File(code)), registry.Export(before))
		if err != nil {
			t.Fatal(err)
		}
		for name := range before.Endpoints {
			for _, operation := range registry.Operations() {
				a, errA := fingerprint(before, name, operation)
				b, errB := fingerprint(after, name, operation)
				if a != b || (errA == nil) != (errB == nil) {
					t.Errorf("%s %s %s: %q %v, exported %q %v", code, name, operation, a, errA, b, errB)
				}
			}
		}
	}
}

func fingerprint(src *registry.Source, endpoint, operation string) (string, error) {
	r, err := registry.Resolve(src, endpoint, operation, nil)
	if err != nil {
		return "", err
	}
	compiled, err := spec.Compile(r)
	if err != nil {
		return "", err
	}
	return compiled.Fingerprint, nil
}
