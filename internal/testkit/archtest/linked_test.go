package archtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// unlinked are modules that must not be part of the program, and why.
var unlinked = map[string]string{
	"github.com/cloudevents/sdk-go":  "we write the envelope ourselves; the SDK is a check of it, in a module of its own",
	"github.com/json-iterator/go":    "it is archived: nobody mends it",
	"github.com/modern-go":           "it came with the JSON library that is archived",
	"github.com/nats-io/nats-server": "it is a server for tests",
	"google.golang.org/grpc":         "spans go to collectors over HTTP; gRPC would add 5 MB to the program for it",
	"pgregory.net/rapid":             "it draws what tests try",
}

// linkedFrom asks go for the packages that the program is linked from.
func linkedFrom(program string) ([]string, error) {
	out, err := exec.Command("go", "list", "-deps", program).Output()
	return strings.Fields(string(out)), err
}

func forbiddenLinks(packages []string) (found []violation) {
	for _, p := range packages {
		for module, why := range unlinked {
			if within(p, module) {
				found = append(found, violation{p, "is linked into the program: " + why})
			}
		}
	}
	return found
}

func TestProgramIsLinkedWithoutWhatOnlyTestsNeed(t *testing.T) {
	packages, err := linkedFrom(modulePath + "/cmd/patra")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(packages, modulePath+"/internal/core/event") {
		t.Fatalf("go listed %d packages but not one that is surely linked", len(packages))
	}
	for _, v := range forbiddenLinks(packages) {
		t.Errorf("%s %s", v.where, v.what)
	}
}

func TestForbiddenLinksAreFound(t *testing.T) {
	got := forbiddenLinks([]string{"fmt", "github.com/cloudevents/sdk-go/v2/event", "github.com/nats-io/nats.go", "github.com/json-iterator/go", "google.golang.org/grpc/codes", "google.golang.org/protobuf/proto"})
	if len(got) != 3 || got[0].where != "github.com/cloudevents/sdk-go/v2/event" || got[1].where != "github.com/json-iterator/go" || got[2].where != "google.golang.org/grpc/codes" {
		t.Errorf("%v", got)
	}
}
