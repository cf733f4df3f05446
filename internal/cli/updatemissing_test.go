package cli

import (
	"slices"
	"strings"
	"testing"
)

// An id that nobody has is said to be not found, by name and exit code; the other
// ids are looked at all the same.
func TestBelieve07AnUnknownIDIsNotFound(t *testing.T) {
	d, _, _ := library(t)
	r := d.expect(5, "update", "lib", "--ids", d.write("ids.txt", "r004\nno-such-id\nr005\n"), "--reason", "check")
	for _, want := range []string{"1 of the ids that were asked for is not found", "no-such-id", "1 never stored"} {
		if !strings.Contains(r.out+r.err, want) {
			t.Errorf("%q is not in %s%s", want, r.out, r.err)
		}
	}
	if r := d.expect(0, "signal", "list", "--status", "NOT_FOUND"); !strings.Contains(r.out, "no-such-id") || strings.Contains(r.out, "r004") {
		t.Error(r.out)
	}
	d.expect(5, "data", "get", "lib", "no-such-id")
	for _, id := range []string{"r004", "r005"} {
		if r := d.expect(0, "data", "get", "lib", id); !strings.Contains(r.out, "looked at again") {
			t.Error(r.out)
		}
	}
	// A signal that somebody else raised is answered in the same words.
	d.expect(0, "signal", "add", "lib", "neither", "--kind", "MERGE", "--reason", "list")
	if r := d.expect(5, "update", "lib", "--signals"); !strings.Contains(r.err, "patra signal list --source lib --status NOT_FOUND") {
		t.Error(r.err)
	}
}

// A record that the upstream lacks for the first time is shown as missing, wherever
// people look, and is no finding by itself.
func TestBelieve06MissingRecordsAreShown(t *testing.T) {
	d, up, _ := library(t)
	up.change(func(all []letter) []letter {
		return slices.DeleteFunc(all, func(l letter) bool { return l.ID == "r003" })
	})
	r := d.expect(0, "update", "lib", "--ids", d.write("ids.txt", "r003\nr004\n"), "--reason", "check")
	if !strings.Contains(r.out, "1 stored, not taken for deleted yet") || !strings.Contains(r.err, "patra update lib --signals") {
		t.Errorf("%s%s", r.out, r.err)
	}
	if r := d.expect(0, "data", "get", "lib", "r003"); !strings.Contains(r.out, "missing since") || !strings.Contains(r.out, "ACTIVE") {
		t.Error(r.out)
	}
	if r := d.run("status"); !strings.Contains(r.out, "1 record of lib/letters is missing since") || strings.Contains(r.out, "! lib/letters: 1 record") {
		t.Error(r.out)
	}
	if r := d.run("status", "-o", "json"); !strings.Contains(r.out, `"missing": [`) {
		t.Error(r.out)
	}
	if r := d.expect(0, "update", "lib", "--signals"); !strings.Contains(r.out, "nothing to do") {
		t.Error(r.out)
	}
}
