package archtest

import (
	"fmt"
	"testing"
)

// violation is one place that breaks a rule.
type violation struct {
	where string // path:line, or the folder
	what  string
}

type rule struct {
	name   string
	check  func(pkg) []violation
	reason string
}

var rules = []rule{
	{"known-layer", knownLayer,
		"a package outside the picture has no import direction that could be held"},
	{"import-direction", importDirection,
		"imports point downward only, so that a reader can start at the bottom and a part can be exchanged"},
	{"one-tracer", oneTracer,
		"services say when a step begins and ends (core/span); whoever records that may be exchanged, and where nobody does it is free"},
	{"testkit-only-in-tests", testkitOnlyInTests,
		"test tools must not become part of the binary"},
	{"core-imports", corePureImports,
		"rules without I/O and logger can be tested at every boundary and called inside a transaction"},
	{"core-clock", coreNoClock,
		"a rule that reads the clock cannot be tested at an exact instant; now is an argument"},
	{"core-random", coreNoGlobalRandom,
		"the same input must give the same plan and the same key; randomness is an argument"},
	{"inspect-values", inspectMakesValues,
		"answers for people are values: metrics, the API and the dashboard read them too, and only whoever shows them says them in words"},
	{"daemon-wall", daemonShowsNoDriver,
		"whoever holds a driver's value works around every rule above it, and no import tells; daemon gives small types and values of the core"},
	{"package-doc", onePackageDoc,
		"each room says at its door what it provides and what it must never do"},
	{"file-length", shortFiles,
		"a file is read as a whole; a longer one holds two topics"},
	{"package-name", namedForTopic,
		"a bucket name says nothing about what belongs inside, so everything ends up there"},
	{"no-sleep-in-tests", noSleepInTests,
		"a sleeping test is slow when it passes and flaky on a busy machine; wait for the event or use a synctest bubble's timers"},
	{"store-rooms", roomsOfTheStore,
		"the rooms of the store meet in one direction, so that each can be read alone and a new database needs one folder"},
	{"store-look", lookOnlyReads,
		"the read side is called from everywhere, also to rehearse; whoever asks must not change what he asks about"},
	{"store-dialect", errorNumbersInDialects,
		"what differs between databases stands in their folders; a number elsewhere is right on one of them"},
	{"cli-rooms", roomsOfTheCommandLine,
		"the rooms of the command line meet in one direction, so that each can be read alone"},
	{"cli-room-size", smallRooms,
		"a room is read as a whole; a longer one holds two topics"},
	{"planner-operations", operationsAskedOnce,
		"operations differ in their own files; a question elsewhere is forgotten when a fourth one comes"},
	{"interface-size", smallInterfaces,
		"whoever takes an interface should see at a glance what it asks for; a longer list is made of named small ones"},
	{"narrow-structs", narrowStructs,
		"a struct that holds the state of everything lets every function change everything; fields that belong together are a value with a name"},
	{"walks-chosen-once", walksChosenOnce,
		"how the records of a slice come is chosen in one place; a function that asks again forgets one of the cases"},
	{"log-keys", keysOfWorklog,
		"all lines about one plan, task or run are found under one key; two spellings are two searches, and one of them is forgotten"},
	{"no-init", noInit,
		"wiring must be visible at the place that does it, and tests must not share hidden state"},
}

func (r rule) message(v violation) string {
	return fmt.Sprintf("%s: %s\n\trule %s: %s", v.where, v.what, r.name, r.reason)
}

func TestModuleKeepsItsShape(t *testing.T) {
	packages, err := loadModule()
	if err != nil {
		t.Fatal(err)
	}
	if !sawItself(packages) {
		t.Fatalf("loaded %d packages but not this one: the module was not really read", len(packages))
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, p := range packages {
				for _, v := range r.check(p) {
					t.Error(r.message(v))
				}
			}
		})
	}
}

func sawItself(packages []pkg) bool {
	for _, p := range packages {
		if p.dir == testkit+"/archtest" && len(p.files) > 1 {
			return true
		}
	}
	return false
}
