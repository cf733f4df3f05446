package tmpl

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
)

// Function describes one function of the closed list.
type Function struct {
	Name      string
	Signature string
	Doc       string
}

// function is how a Function is checked and called.
type function struct {
	Function
	kinds    []kind
	optional int  // how many of the last kinds may be missing
	repeats  bool // the last kind may be given again and again
	absent   bool // it sees absent values; any other function of an absent value is absent
	alike    bool // its arguments must be of one kind
	only     site // the one place where it exists; everywhere if empty
	result   reflect.Type
	call     func(args []any) (any, error)
}

func functionNames() []string {
	var out []string
	for _, f := range Functions {
		out = append(out, f.Name)
	}
	return out
}

func findFunction(name string) *function { return findByName(Functions, name) }

func findOperator(name string) *function { return findByName(operators, name) }

func findByName(list []function, name string) *function {
	i := slices.IndexFunc(list, func(f function) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func (f *function) allowedIn(p site) bool { return f.only == "" || f.only == p }

func (f *function) argumentKind(i int) kind { return f.kinds[min(i, len(f.kinds)-1)] }

func (f *function) checkCount(n int) error {
	if n < len(f.kinds)-f.optional || n > len(f.kinds) && !f.repeats {
		return fmt.Errorf("wrong number of arguments: %s", f.Signature)
	}
	return nil
}

// checkCall tells the type of a call from the types of its arguments. Where one of
// them is only known at run time, so is the result: it may be absent.
func (f *function) checkCall(arguments []reflect.Type) (reflect.Type, error) {
	if err := f.checkCount(len(arguments)); err != nil {
		return anyType, err
	}
	result := f.result
	var kinds []string
	for i, t := range arguments {
		if t == nil || t == anyType {
			result = anyType
			continue
		}
		if k := f.argumentKind(i); !k.acceptsType(t) {
			return anyType, fmt.Errorf("%s wants %s as argument %d, got %s: %s", f.Name, k, i+1, kindName(t), f.Signature)
		}
		kinds = append(kinds, kindName(t))
	}
	if slices.Sort(kinds); f.alike && len(slices.Compact(kinds)) > 1 {
		return anyType, fmt.Errorf("%s cannot be mixed with %s: use concat or number(text)", kinds[0], kinds[1])
	}
	if result == nil {
		return anyType, nil
	}
	return result, nil
}

// callWith converts the arguments, calls, and holds the result to its limit.
func (f *function) callWith(given ...any) (any, error) {
	if len(given) > 0 && given[0] == nil && !f.absent {
		return nil, nil
	}
	var fixed [4]any
	args := append(fixed[:0], given...)
	for i := range args {
		converted, err := f.argumentKind(i).convertValue(args[i])
		if err != nil {
			return nil, fmt.Errorf("%s: argument %d: %w", f.Name, i+1, err)
		}
		args[i] = converted
	}
	value, err := f.call(args)
	if text, ok := value.(string); ok && len(text) > maxRendered {
		err = errTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return value, nil
}

// library is the list as the expression library wants it. It never changes.
var library = sync.OnceValue(func() conf.FunctionsTable {
	table := conf.FunctionsTable{}
	for _, list := range [][]function{Functions, operators} {
		for i := range list {
			f := &list[i]
			table[f.Name] = &builtin.Function{Name: f.Name, Func: f.callWith, Validate: f.checkCall}
		}
	}
	return table
})
