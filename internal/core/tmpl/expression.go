package tmpl

import (
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// expression is the code of one ${…}.
type expression struct {
	names    []string // variables it reads
	alone    bool     // it is one variable and needs no machine
	program  *vm.Program
	machines sync.Pool // of *machine
}

type machine struct {
	vm  vm.VM
	env map[string]any
}

// compileExpression parses, keeps the tree to the part of the language that is allowed,
// and only then lets the library check types and make a program.
func (s *scope) compileExpression(source string) (*expression, error) {
	config := &conf.Config{MaxNodes: maxNodes, Functions: library(), DisableIfOperator: true, Optimize: true, ShortCircuit: true}
	config.WithEnv(types.Map{})
	tree, err := parser.ParseWithConfig(source, config)
	if err != nil {
		return nil, explainError(err)
	}
	r := rewriter{scope: s, types: types.Map{}}
	if tree.Node, err = r.rewriteNode(tree.Node); err != nil {
		return nil, err
	}
	config.WithEnv(r.types)
	if _, err := checker.Check(tree, config); err != nil {
		return nil, explainError(err)
	}
	program, err := compiler.Compile(tree, config)
	if err != nil {
		return nil, explainError(err)
	}
	_, alone := tree.Node.(*ast.IdentifierNode)
	return &expression{names: r.names, alone: alone, program: program}, nil
}

func (e *expression) evaluateWith(vars variables) (any, error) {
	if e.alone {
		return vars.variableValue(e.names[0])
	}
	m, _ := e.machines.Get().(*machine)
	if m == nil {
		m = &machine{env: make(map[string]any, len(e.names))}
	}
	defer e.machines.Put(m)
	for _, name := range e.names {
		value, err := vars.variableValue(name)
		if err != nil {
			return nil, err
		}
		m.env[name] = value
	}
	value, err := m.vm.Run(e.program, m.env)
	clear(m.env)
	if err != nil {
		return nil, explainError(err)
	}
	return value, nil
}

// explainError shortens an error of the library to its first line and puts the
// commonest ones into the words of this language.
func explainError(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	for _, word := range []string{"contains", "startsWith", "endsWith"} {
		if strings.Contains(text, `Operator("`+word+`")`) {
			return errors.New("unexpected " + word + ": write it between two texts, as in page.token " + word + " 'x'")
		}
	}
	if strings.HasPrefix(text, "interface conversion") {
		return errors.New("a condition is neither true nor false: use default(value, false)")
	}
	return errors.New(text)
}

// typeOf describes a variable to the checker; what a path selects has any type.
func typeOf(sample any) types.Type {
	if sample == nil {
		return types.Any
	}
	return types.TypeOf(sample)
}

var anyType = reflect.TypeFor[any]()
