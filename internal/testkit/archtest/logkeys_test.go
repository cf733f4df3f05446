package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"

	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// logKeys are the keys that have their name in worklog.
var logKeys = []string{
	worklog.Source, worklog.Endpoint, worklog.Operation, worklog.Trigger, worklog.Plan, worklog.Slice, worklog.Task, worklog.Run, worklog.Batch, worklog.Correlation,
}

// logCalls write a line, or make a logger that says more.
var logCalls = []string{"Debug", "Info", "Warn", "Error", "Log", "With"}

// keysOfWorklog finds lines of the log of services that spell such a key themselves.
func keysOfWorklog(p pkg) (found []violation) {
	if !withinAny(p.dir, []string{"internal/engine", "internal/daemon"}) || p.dir == "internal/engine/worklog" {
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
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(logCalls, method.Sel.Name) {
				return true
			}
			for _, argument := range call.Args {
				ast.Inspect(argument, func(n ast.Node) bool {
					if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
						if key, err := strconv.Unquote(text.Value); err == nil && slices.Contains(logKeys, key) {
							found = append(found, violation{f.at(text), "spells the key " + text.Value})
						}
					}
					return true
				})
			}
			return true
		})
	}
	return found
}

func logFixtures() []fixture {
	const spelled = "package x\nfunc f(s service, about []any) {\ns.log.Warn(\"lost\", append(about, \"task\", 7)...)\n}"
	return []fixture{
		{"log-keys", "spelled key", "internal/engine/x", of(spelled), []string{"internal/engine/x/a.go:3"}},
		{"log-keys", "in daemon", "internal/daemon", of(spelled), []string{"internal/daemon/a.go:3"}},
		{"log-keys", "key by its name", "internal/engine/x", of("package x\nfunc f(s service) { s.log.Warn(\"lost\", worklog.Task, 7, \"epoch\", 2) }"), nil},
		{"log-keys", "test file", "internal/engine/x", inTest(spelled), nil},
		{"log-keys", "other layer", "internal/driver/x", of(spelled), nil},
	}
}
