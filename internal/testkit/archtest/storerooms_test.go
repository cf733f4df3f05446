package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

const (
	storeFolder = "internal/driver/store"
	suiteFolder = testkit + "/storetest"
)

// storeRoom is a folder of the store and the others that its production code may
// import.
type storeRoom struct {
	folder string
	may    []string
}

// kernel ← bodies ← look ← {ledger, registry, outbox, alarm, access, archive} ← store ← the
// databases. A folder without a row is a database.
var storeRooms = []storeRoom{
	{"migrations", nil},
	{"kernel", []string{"migrations"}},
	{"bodies", []string{"kernel"}},
	{"look", []string{"kernel", "bodies"}},
	{"ledger", []string{"kernel", "bodies", "look"}},
	{"registry", []string{"kernel", "bodies", "look"}},
	{"outbox", []string{"kernel", "bodies", "look"}},
	{"alarm", []string{"kernel", "look"}},
	{"access", []string{"kernel", "look"}},
	{"archive", []string{"kernel", "bodies", "look"}},
	{"", []string{"kernel", "bodies", "look", "ledger", "registry", "outbox", "alarm", "access", "archive"}},
}

// suiteParts are the parts of the store's suite, cut where the store is cut.
var suiteParts = []storeRoom{
	{"fixture", nil},
	{"", []string{"fixture", "kernel", "ledger", "registry", "outbox", "alarm", "access", "archive", "look"}},
}

// part is what a part of the suite may import of it.
var part = storeRoom{"a part", []string{"fixture"}}

// database is what the folder of a database may import of the store.
var database = storeRoom{"a database", []string{"", "kernel"}}

// roomIn is the row of a folder below another, or the row of those without one.
func roomIn(folder, dir string, rows []storeRoom, others storeRoom) storeRoom {
	name := strings.TrimPrefix(strings.TrimPrefix(dir, folder), "/")
	for _, room := range rows {
		if room.folder == name {
			return room
		}
	}
	return others
}

// roomsOfTheStore holds the seams of the store and of its suite.
func roomsOfTheStore(p pkg) (found []violation) {
	switch {
	case within(p.dir, storeFolder):
		return importsOtherRooms(p, storeFolder, roomIn(storeFolder, p.dir, storeRooms, database))
	case within(p.dir, suiteFolder):
		return importsOtherRooms(p, suiteFolder, roomIn(suiteFolder, p.dir, suiteParts, part))
	}
	return nil
}

// importsOtherRooms finds imports below a folder that a room's row does not list.
func importsOtherRooms(p pkg, folder string, room storeRoom) (found []violation) {
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, spec := range f.tree.Imports {
			dir, our := ours(importPath(spec))
			if !our || !within(dir, folder) {
				continue
			}
			if name := strings.TrimPrefix(strings.TrimPrefix(dir, folder), "/"); !slices.Contains(room.may, name) {
				found = append(found, violation{f.at(spec), fmt.Sprintf("%s imports %s", p.dir, dir)})
			}
		}
	}
	return found
}

// writing are the methods of the kernel that change a database.
var writing = []string{"Step", "StepFrom", "Once", "Exec", "ExecOne", "ExecIn", "Affected", "Insert", "InsertMany", "InsertFlat", "InsertRows", "Audit", "ExecContext"}

// lookOnlyReads finds calls in the read side of the store that write.
func lookOnlyReads(p pkg) (found []violation) {
	if p.dir != storeFolder+"/look" {
		return nil
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(writing, selector.Sel.Name) {
				found = append(found, violation{f.at(call), "calls " + selector.Sel.Name})
			}
			return true
		})
	}
	return found
}

// drivers are the libraries whose errors carry numbers, and the folder of each.
var drivers = map[string]string{
	"github.com/go-sql-driver/mysql": storeFolder + "/mysql",
	"modernc.org/sqlite":             storeFolder + "/sqlite",
}

// serverNumber is an error number of a MySQL server, as its errors are written.
var serverNumber = regexp.MustCompile(`^["` + "`" + `](Error )?[1-4]\d{3}\b[ "` + "`" + `(:]`)

// errorNumbersInDialects finds libraries of databases, and numbers of their errors,
// outside of their folders. Test tools open databases themselves.
func errorNumbersInDialects(p pkg) (found []violation) {
	if within(p.dir, testkit) {
		return nil
	}
	inRoom := within(p.dir, storeFolder) && roomIn(storeFolder, p.dir, storeRooms, database).folder != database.folder
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, spec := range f.tree.Imports {
			for library, folder := range drivers {
				if imported := importPath(spec); within(imported, library) && p.dir != folder {
					found = append(found, violation{f.at(spec), "imports " + imported + ", which belongs to " + folder})
				}
			}
		}
		if !inRoom {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && serverNumber.MatchString(literal.Value) {
				found = append(found, violation{f.at(literal), "holds the error number " + literal.Value})
			}
			return true
		})
	}
	return found
}

func storeFixtures() []fixture {
	room := func(name string) string { return our + storeFolder + "/" + name }
	return []fixture{
		{"store-rooms", "kernel looks up", storeFolder + "/kernel", of(importing(room("migrations"), room("bodies"))), []string{storeFolder + "/kernel/a.go:5"}},
		{"store-rooms", "bodies look up", storeFolder + "/bodies", of(importing(room("look"))), []string{storeFolder + "/bodies/a.go:4"}},
		{"store-rooms", "look knows a room that writes", storeFolder + "/look", of(importing(room("ledger"))), []string{storeFolder + "/look/a.go:4"}},
		{"store-rooms", "ledger knows its neighbour", storeFolder + "/ledger", of(importing(room("kernel"), room("outbox"))), []string{storeFolder + "/ledger/a.go:5"}},
		{"store-rooms", "registry knows its neighbour", storeFolder + "/registry", of(importing(room("ledger"))), []string{storeFolder + "/registry/a.go:4"}},
		{"store-rooms", "outbox knows its neighbour", storeFolder + "/outbox", of(importing(room("ledger"))), []string{storeFolder + "/outbox/a.go:4"}},
		{"store-rooms", "alarm knows its neighbour", storeFolder + "/alarm", of(importing(room("ledger"))), []string{storeFolder + "/alarm/a.go:4"}},
		{"store-rooms", "access knows its neighbour", storeFolder + "/access", of(importing(room("ledger"))), []string{storeFolder + "/access/a.go:4"}},
		{"store-rooms", "archive knows its neighbour", storeFolder + "/archive", of(importing(room("ledger"))), []string{storeFolder + "/archive/a.go:4"}},
		{"store-rooms", "a room knows the whole", storeFolder + "/archive", of(importing(our + storeFolder)), []string{storeFolder + "/archive/a.go:4"}},
		{"store-rooms", "the whole knows a database", storeFolder, of(importing(room("sqlite"))), []string{storeFolder + "/a.go:4"}},
		{"store-rooms", "a third database knows a room", storeFolder + "/postgres", of(importing(room("ledger"))), []string{storeFolder + "/postgres/a.go:4"}},
		{"store-rooms", "a third database", storeFolder + "/postgres", of(importing(our+storeFolder, room("kernel"))), nil},
		{"store-rooms", "downward", storeFolder + "/ledger", of(importing(room("kernel"), room("bodies"), room("look"))), nil},
		{"store-rooms", "a part of the suite knows its neighbour", suiteFolder + "/ledger", of(importing(our+suiteFolder+"/fixture", our+suiteFolder+"/outbox")), []string{suiteFolder + "/ledger/a.go:5"}},
		{"store-rooms", "the fixture knows a part", suiteFolder + "/fixture", of(importing(our + suiteFolder + "/ledger")), []string{suiteFolder + "/fixture/a.go:4"}},
		{"store-rooms", "the suite joins its parts", suiteFolder, of(importing(our+suiteFolder+"/fixture", our+suiteFolder+"/ledger")), nil},
		{"store-rooms", "test file", storeFolder + "/ledger", inTest(importing(room("sqlite"))), nil},

		{"store-look", "a step", storeFolder + "/look", of("package look\nfunc (s *Look) F() { s.db.Step(1) }"), []string{storeFolder + "/look/a.go:2"}},
		{"store-look", "a statement", storeFolder + "/look", of("package look\nfunc f(t *T) { t.ExecOne(1) }"), []string{storeFolder + "/look/a.go:2"}},
		{"store-look", "a question", storeFolder + "/look", of("package look\nfunc (s *Look) F() { s.db.Query(1) }"), nil},
		{"store-look", "another room", storeFolder + "/ledger", of("package ledger\nfunc (s *Ledger) F() { s.db.Step(1) }"), nil},

		{"store-dialect", "library outside of its folder", "internal/daemon", of(importing("github.com/go-sql-driver/mysql")), []string{"internal/daemon/a.go:4"}},
		{"store-dialect", "part of a library", storeFolder + "/mysql", of(importing("modernc.org/sqlite/lib")), []string{storeFolder + "/mysql/a.go:4"}},
		{"store-dialect", "number", storeFolder + "/kernel", of("package kernel\nvar codes = []string{\"1050\", \"1060\"}"), []string{storeFolder + "/kernel/a.go:2", storeFolder + "/kernel/a.go:2"}},
		{"store-dialect", "number in its text", storeFolder + "/ledger", of("package ledger\nconst duplicate = \"Error 1062 (23000)\""), []string{storeFolder + "/ledger/a.go:2"}},
		{"store-dialect", "library in its folder", storeFolder + "/mysql", of(importing("github.com/go-sql-driver/mysql")), nil},
		{"store-dialect", "other numbers", storeFolder + "/kernel", of("package kernel\nconst rows = 1000\nconst day = \"2025-01-01\""), nil},
		{"store-dialect", "test tools", "internal/testkit/check", of(importing("github.com/go-sql-driver/mysql")), nil},
	}
}
