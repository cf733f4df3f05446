package doctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page of licences anew")

const licencePage = "docs/licences.md"

// linked is a module whose code is in the program.
type linked struct {
	Path    string
	Version string
	Dir     string
	Main    bool
}

// platforms are what the page is written for: their programs differ by a module or two.
var platforms = []string{"linux", "darwin", "windows"}

// linkedModules asks go for the modules that the program is linked from, on all platforms.
func linkedModules(t *testing.T) []linked {
	t.Helper()
	found := map[string]linked{}
	for _, system := range platforms {
		list := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/patra")
		list.Dir, list.Env = root(t), append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		var problems bytes.Buffer
		list.Stderr = &problems
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list: %v: %s", err, problems.String())
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct{ Module *linked }
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module != nil && !p.Module.Main {
				found[p.Module.Path] = *p.Module
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b linked) int { return strings.Compare(a.Path, b.Path) })
}

// licences are told apart by their words. A file may hold several.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{bsd3, "endorse or promote products derived from this software"},
	{bsd2, "Redistributions in binary form must reproduce"}, // in the longer one too
}

const bsd2, bsd3 = "BSD-2-Clause", "BSD-3-Clause"

var (
	licenceFile = regexp.MustCompile(`^(?i:licen[sc]e|copying|unlicense)(\.(md|txt))?$`)
	holder      = regexp.MustCompile(`(?m)^\W*((?i:Copyright) (?:(?i:\(c\))|©|\d{4}).*?)\s*$`)
)

// readLicence finds the licence of a module in its folder, and whose it is.
func readLicence(m linked) (name string, holders []string, err error) {
	files, err := os.ReadDir(m.Dir)
	if err != nil {
		return "", nil, err
	}
	for _, f := range files {
		if !licenceFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, f.Name()))
		if err != nil {
			return "", nil, err
		}
		name = strings.Join(nameLicences(string(text)), ", ")
		for _, match := range holder.FindAllStringSubmatch(string(text), -1) {
			holders = append(holders, strings.TrimSuffix(strings.Join(strings.Fields(match[1]), " "), " All rights reserved."))
		}
		return name, holders, nil
	}
	return "", nil, fmt.Errorf("%s has no licence file", m.Path)
}

func nameLicences(text string) (names []string) {
	flat := strings.Join(strings.Fields(text), " ")
	for _, l := range licences {
		if strings.Contains(flat, l.words) && !(l.name == bsd2 && slices.Contains(names, bsd3)) {
			names = append(names, l.name)
		}
	}
	return names
}

func licencesText(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Licences of what is linked in\n\n" +
		"Patra Ingest is under the [Apache License 2.0](../LICENSE). The program also contains the Go standard library\n" +
		"(BSD-3-Clause, The Go Authors) and these modules. Whoever passes the program on passes their notices on too: each\n" +
		"module has its licence in full in its own folder, below `go env GOMODCACHE`.\n\n" +
		"This page is written by a test from what `go list` says of Linux, macOS and Windows, so it is as new as `go.mod`:\n" +
		"`go test ./internal/testkit/doctest -run Licences -update`. Modules that only tests use are not in it.\n\n" +
		"| module | version | licence | copyright |\n|---|---|---|---|\n")
	for _, m := range linkedModules(t) {
		name, holders, err := readLicence(m)
		if err != nil {
			t.Error(err)
		}
		if name == "" {
			t.Errorf("%s: nobody knows its licence: read it, and add its words to the list in this test", m.Path)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.Path, m.Version, name, strings.ReplaceAll(strings.Join(holders, "; "), "|", `\|`))
	}
	return b.String()
}

// The page lists the licence of every module in the program; -update writes it.
func TestLicencesAreListed(t *testing.T) {
	want := licencesText(t)
	file := filepath.Join(root(t), filepath.FromSlash(licencePage))
	if *update && !t.Failed() {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := pageAt(t, licencePage).text; got != want {
		t.Errorf("%s is out of date: run this test with -update and read what changed", licencePage)
	}
}

func TestLicencesAreToldApart(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004": "Apache-2.0",
		"Redistributions in binary form must\nreproduce … Neither the name … endorse or promote products derived from\nthis software": "BSD-3-Clause",
		"Redistributions in binary form must reproduce the above copyright":                                                           "BSD-2-Clause",
		"All rights are mine": "",
		"Apache License Version 2.0 … Permission is hereby granted, free of charge": "Apache-2.0, MIT",
	} {
		if got := strings.Join(nameLicences(text), ", "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
