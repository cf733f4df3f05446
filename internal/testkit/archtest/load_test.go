package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const modulePath = "github.com/patra-ingest/patra"

// pkg is one folder of the module with all its files, for every platform.
type pkg struct {
	dir   string // relative to the module, with slashes: internal/core/window
	files []*file
}

type file struct {
	path  string // relative to the module
	test  bool
	lines int
	set   *token.FileSet
	tree  *ast.File
}

// at tells the place of a node as path:line.
func (f *file) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.path, f.set.Position(n.Pos()).Line)
}

// name is the package clause without the suffix of external tests.
func (f *file) name() string {
	if f.test {
		return strings.TrimSuffix(f.tree.Name.Name, "_test")
	}
	return f.tree.Name.Name
}

// parseFile reads one source text; rules never see anything else, so a fixture
// is as good as a file on disk.
func parseFile(filePath string, source []byte) (*file, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, filePath, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &file{
		path:  filePath,
		test:  strings.HasSuffix(filePath, "_test.go"),
		lines: bytes.Count(source, []byte("\n")),
		set:   set,
		tree:  tree,
	}, nil
}

// importPath is the unquoted path of an import.
func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked the quotes
	return p
}

// listed is what go list tells about a package.
type listed struct {
	Dir, ImportPath                   string
	GoFiles, CgoFiles, IgnoredGoFiles []string
	TestGoFiles, XTestGoFiles         []string
}

// loadModule asks go list for the packages and parses their files. With -find
// it resolves no imports, so that it is quick and works on broken packages too.
func loadModule() ([]pkg, error) {
	list := exec.Command("go", "list", "-find", "-e",
		"-json=Dir,ImportPath,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", modulePath+"/...")
	var problems bytes.Buffer
	list.Stderr = &problems
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, problems.String())
	}
	var packages []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		p, err := load(l)
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func load(l listed) (pkg, error) {
	p := pkg{dir: relative(l.ImportPath)}
	for _, names := range [][]string{l.GoFiles, l.CgoFiles, l.IgnoredGoFiles, l.TestGoFiles, l.XTestGoFiles} {
		for _, name := range names {
			source, err := os.ReadFile(filepath.Join(l.Dir, name))
			if err != nil {
				return pkg{}, err
			}
			f, err := parseFile(path.Join(p.dir, name), source)
			if err != nil {
				return pkg{}, fmt.Errorf("parse: %w", err)
			}
			p.files = append(p.files, f)
		}
	}
	return p, nil
}

// relative cuts the module path off an import path; "." is the module's root.
func relative(importPath string) string {
	if importPath == modulePath {
		return "."
	}
	return strings.TrimPrefix(importPath, modulePath+"/")
}

// ours tells whether an import is of this module, and its folder.
func ours(importPath string) (dir string, ok bool) {
	return relative(importPath), importPath == modulePath || strings.HasPrefix(importPath, modulePath+"/")
}

// within tells whether dir is folder or lies below it.
func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}

func withinAny(dir string, folders []string) bool {
	for _, folder := range folders {
		if within(dir, folder) {
			return true
		}
	}
	return false
}
