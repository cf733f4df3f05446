package archtest

import (
	"fmt"
	"slices"
	"strings"
)

const (
	cliFolder    = "internal/cli"
	maxRoomLines = 3500
)

// cliRooms are the rooms of the command line and the others that each may import.
// All may import term; the root may import all.
var cliRooms = []storeRoom{
	{"term", nil},
	{"subject", nil},
	{"reason", nil},
	{"alert", nil},
	{"token", nil},
	{"cursor", nil},
	{"data", nil},
	{"stats", nil},
	{"rate", []string{"reason"}},
	{"consent", []string{"subject"}},
	{"admin", []string{"consent"}},
	{"events", []string{"consent", "reason"}},
	{"ledger", []string{"reason", "subject"}},
	{"work", []string{"admin", "consent", "events", "ledger", "reason", "subject"}},
	{"quarantine", []string{"work"}},
	{"demo", []string{"work"}},
	{"coverage", []string{"cursor", "reason"}},
	{"status", []string{"coverage", "reason"}},
	{"source", []string{"consent", "coverage", "reason", "subject"}},
}

// roomsOfTheCommandLine finds rooms without a row, and imports that a row does not
// list.
func roomsOfTheCommandLine(p pkg) []violation {
	if !within(p.dir, cliFolder) || p.dir == cliFolder {
		return nil
	}
	name := strings.TrimPrefix(p.dir, cliFolder+"/")
	for _, room := range cliRooms {
		if room.folder == name {
			return importsOtherRooms(p, cliFolder, storeRoom{name, append(slices.Clone(room.may), "term")})
		}
	}
	return []violation{{p.dir, "room has no row in cliRooms"}}
}

// smallRooms finds rooms of the command line that hold too much.
func smallRooms(p pkg) []violation {
	if !within(p.dir, cliFolder) {
		return nil
	}
	lines := 0
	for _, f := range p.files {
		if !f.test {
			lines += f.lines
		}
	}
	if lines > maxRoomLines {
		return []violation{{p.dir, fmt.Sprintf("has %d lines, more than %d", lines, maxRoomLines)}}
	}
	return nil
}

func cliFixtures() []fixture {
	room := func(name string) string { return our + cliFolder + "/" + name }
	long := "package x\n" + strings.Repeat("\n", maxRoomLines)
	return []fixture{
		{"cli-rooms", "term knows a room", cliFolder + "/term", of(importing(room("reason"))), []string{cliFolder + "/term/a.go:4"}},
		{"cli-rooms", "a room knows the root", cliFolder + "/data", of(importing(our + cliFolder)), []string{cliFolder + "/data/a.go:4"}},
		{"cli-rooms", "ledger knows who uses it", cliFolder + "/ledger", of(importing(room("term"), room("work"))), []string{cliFolder + "/ledger/a.go:5"}},
		{"cli-rooms", "a row allows it", cliFolder + "/work", of(importing(room("ledger"), room("term"))), nil},
		{"cli-rooms", "a room without a row", cliFolder + "/corner", of("package corner"), []string{cliFolder + "/corner"}},
		{"cli-rooms", "the root joins all", cliFolder, of(importing(room("work"), room("status"))), nil},
		{"cli-room-size", "too long", cliFolder + "/x", of(long), []string{cliFolder + "/x"}},
		{"cli-room-size", "tests do not count", cliFolder + "/x", inTest(long), nil},
		{"cli-room-size", "other layer", "internal/engine/x", of(long), nil},
	}
}
