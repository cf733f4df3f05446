package archtest

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// hole stands in a text for what is known only while the program runs: a value, or
// the name of a table.
const hole = "\x00"

// sqlText is a text of one function that may be SQL or a part of it.
type sqlText struct {
	file, at string
	text     string
	role     textRole
	unit     int // of the function or declaration that it stands in
}

// textRole tells what a text is by the place where it stands.
type textRole int

const (
	anyText    textRole = iota
	tableName           // of rows that are inserted
	insertList          // the columns of rows that are inserted
)

// textReader finds the texts of packages. Constants and variables of a package are
// put in where they are used, so that a statement made of parts is read whole.
type textReader struct {
	named map[string]ast.Expr // package.name → what it is declared as
	units int
	texts []sqlText
}

// readTexts reads the folders that work; names may be of any package.
func readTexts(packages []pkg, works func(dir string) bool) []sqlText {
	r := &textReader{named: map[string]ast.Expr{}}
	eachFile(packages, func(p pkg, f *file) { r.noteNames(f) })
	eachFile(packages, func(p pkg, f *file) {
		if works(p.dir) {
			r.readFile(f)
		}
	})
	return r.texts
}

func eachFile(packages []pkg, do func(pkg, *file)) {
	for _, p := range packages {
		for _, f := range p.files {
			if !f.test {
				do(p, f)
			}
		}
	}
}

// noteNames notes the constants and variables of a file.
func (r *textReader) noteNames(f *file) {
	for _, decl := range f.tree.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && (d.Tok == token.CONST || d.Tok == token.VAR) {
			noteSpecs(d, func(name string, value ast.Expr) { r.named[f.name()+"."+name] = value })
		}
	}
}

func noteSpecs(d *ast.GenDecl, note func(name string, value ast.Expr)) {
	for _, spec := range d.Specs {
		values := spec.(*ast.ValueSpec)
		for i, name := range values.Names {
			if i < len(values.Values) {
				note(name.Name, values.Values[i])
			}
		}
	}
}

// readFile reads each declaration of a file as a unit of its own.
func (r *textReader) readFile(f *file) {
	for _, decl := range f.tree.Decls {
		r.units++
		u := &textUnit{r, f, f.name(), map[string]ast.Expr{}}
		switch d := decl.(type) {
		case *ast.FuncDecl:
			ast.Inspect(d, u.noteLocals)
			ast.Inspect(d, u.readNode)
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				ast.Inspect(d, u.readNode)
			}
		}
	}
}

// textUnit is one declaration while it is read.
type textUnit struct {
	*textReader
	file   *file
	from   string              // the package that names without one are of
	locals map[string]ast.Expr // the first text that a name of the function was given
}

func (u *textUnit) noteLocals(n ast.Node) bool {
	note := func(name string, value ast.Expr) {
		if _, known := u.locals[name]; !known && u.hasText(value) {
			u.locals[name] = value
		}
	}
	switch n := n.(type) {
	case *ast.GenDecl:
		if n.Tok == token.CONST || n.Tok == token.VAR {
			noteSpecs(n, note)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if name, ok := left.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
				note(name.Name, n.Rhs[i])
			}
		}
	}
	return true
}

// readNode takes the longest expressions that are texts.
func (u *textUnit) readNode(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if name := calledName(n); name == "InsertMany" || name == "InsertFlat" || name == "InsertRows" {
			u.keepText(n.Args[0], tableName)
			u.keepText(n.Args[1], insertList)
			for _, arg := range n.Args[2:] {
				ast.Inspect(arg, u.readNode)
			}
			return false
		}
		if list, ok := firstArg(n).(*ast.Ident); ok && calledName(n) == "append" && list.Name == "columns" {
			for _, arg := range n.Args[1:] {
				u.keepText(arg, insertList)
			}
			return false
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "columns" {
			u.keepText(n.Value, insertList)
			return false
		}
	case *ast.BasicLit, *ast.BinaryExpr:
		if u.hasText(n.(ast.Expr)) {
			u.keepText(n.(ast.Expr), anyText)
			return false
		}
	case *ast.Field: // a tag is no text of the program
		return false
	}
	return true
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

func firstArg(call *ast.CallExpr) ast.Expr {
	if len(call.Args) == 0 {
		return nil
	}
	return call.Args[0]
}

func (u *textUnit) keepText(e ast.Expr, role textRole) {
	u.texts = append(u.texts, sqlText{u.file.path, u.file.at(e), u.valueOf(e, 0), role, u.units})
}

// hasText tells whether an expression is a text that holds at least one literal.
func (u *textUnit) hasText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (u.hasText(e.X) || u.hasText(e.Y))
	case *ast.ParenExpr:
		return u.hasText(e.X)
	}
	return false
}

// valueOf is the text of an expression, with holes for what is not known.
func (u *textUnit) valueOf(e ast.Expr, depth int) string {
	if depth > 20 { // a name that is made of itself
		return hole
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil || e.Kind != token.STRING {
			return hole
		}
		return text
	case *ast.BinaryExpr:
		return u.valueOf(e.X, depth+1) + u.valueOf(e.Y, depth+1)
	case *ast.ParenExpr:
		return u.valueOf(e.X, depth+1)
	case *ast.Ident:
		if value, ok := u.locals[e.Name]; ok {
			return u.valueOf(value, depth+1)
		}
		return u.valueNamed(u.from+"."+e.Name, depth)
	case *ast.SelectorExpr:
		if from, ok := e.X.(*ast.Ident); ok {
			return u.valueNamed(from.Name+"."+e.Sel.Name, depth)
		}
	case *ast.CallExpr:
		if to, ok := e.Fun.(*ast.Ident); ok && to.Name == "string" && len(e.Args) == 1 {
			return u.valueOf(e.Args[0], depth+1)
		}
	}
	return hole
}

func (u *textUnit) valueNamed(name string, depth int) string {
	value, ok := u.named[name]
	if !ok {
		return hole
	}
	from, _, _ := strings.Cut(name, ".")
	return (&textUnit{u.textReader, u.file, from, nil}).valueOf(value, depth+1)
}
