package archtest

import (
	"slices"
	"strings"
)

func allFixtures() []fixture {
	return slices.Concat(importFixtures(), purityFixtures(), docFixtures(), habitFixtures(), storeFixtures(), cliFixtures(), wallFixtures(), logFixtures())
}

func importFixtures() []fixture {
	window, check := our+"internal/core/window", our+"internal/testkit/check"
	return []fixture{
		{"known-layer", "new folder", "internal/stuff", of("package stuff"), []string{"internal/stuff"}},
		{"known-layer", "name that only begins alike", "internal/corex", of("package corex"), []string{"internal/corex"}},
		{"known-layer", "root of the module", ".", of("package patra"), []string{"."}},
		{"known-layer", "layer itself", "internal/daemon", of("package daemon"), nil},

		{"import-direction", "each import with its line", "internal/core/x",
			of(importing(window, our+"internal/cli", "strings", our+"internal/daemon")),
			[]string{"internal/core/x/a.go:5", "internal/core/x/a.go:7"}},
		{"import-direction", "foreign module of the same kind", "internal/core/x",
			of(importing("github.com/other/patra/internal/cli")), nil},
		{"import-direction", "test file", "internal/engine/x", inTest(importing(our + "internal/driver/store/sqlite")), nil},

		{"one-tracer", "a service", "internal/engine/x", of(importing("go.opentelemetry.io/otel/trace", "context")), []string{"internal/engine/x/a.go:4"}},
		{"one-tracer", "the tracer", tracer, of(importing("go.opentelemetry.io/otel/sdk/trace")), nil},
		{"one-tracer", "test file", "internal/engine/x", inTest(importing("go.opentelemetry.io/otel/trace")), nil},

		{"testkit-only-in-tests", "production file", "internal/engine/x", of(importing(check)), []string{"internal/engine/x/a.go:4"}},
		{"testkit-only-in-tests", "test file", "internal/engine/x", inTest(importing(check)), nil},
		{"testkit-only-in-tests", "testkit itself", "internal/testkit/e2e", of(importing(check)), nil},

		{"core-imports", "each banned package", "internal/core/x",
			of(importing("net/http", "database/sql", "os", "log", "log/slog", "database/sql/driver")),
			[]string{"internal/core/x/a.go:4", "internal/core/x/a.go:5", "internal/core/x/a.go:6",
				"internal/core/x/a.go:7", "internal/core/x/a.go:8", "internal/core/x/a.go:9"}},
		{"core-imports", "pure neighbours", "internal/core/x", of(importing("net/url", "time", "strings", "net/netip")), nil},
		{"core-imports", "test file", "internal/core/x", inTest(importing("os")), nil},
		{"core-imports", "other layer", "internal/driver/x", of(importing("os", "net/http")), nil},
	}
}

func purityFixtures() []fixture {
	return []fixture{
		{"core-clock", "call", "internal/core/x", of("package x\nimport \"time\"\nvar t = time.Now()"), []string{"internal/core/x/a.go:3"}},
		{"core-clock", "passed on as a value", "internal/core/x", of("package x\nimport \"time\"\nvar f = time.Since"), []string{"internal/core/x/a.go:3"}},
		{"core-clock", "renamed import", "internal/core/x", of("package x\nimport tt \"time\"\nfunc f() { tt.Sleep(1) }"), []string{"internal/core/x/a.go:3"}},
		{"core-clock", "dot import", "internal/core/x", of("package x\nimport . \"time\"\nvar t = Now()"), []string{"internal/core/x/a.go:2"}},
		{"core-clock", "types and arithmetic", "internal/core/x", of("package x\nimport \"time\"\nfunc f(now time.Time) time.Time { return now.Add(time.Hour) }"), nil},
		{"core-clock", "variable that shadows the package", "internal/core/x", of("package x\nimport \"time\"\nvar _ time.Time\nfunc f(time struct{ Now int }) int { return time.Now }"), nil},
		{"core-clock", "other package called time", "internal/core/x", of("package x\nimport \"example.org/time\"\nvar t = time.Now()"), nil},
		{"core-clock", "same name of another import", "internal/core/x", of("package x\nimport (\n\"time\"\n\"example.org/clock\"\n)\nvar _ time.Time\nvar t = clock.Now()"), nil},
		{"core-clock", "test file", "internal/core/x", inTest("package x\nimport \"time\"\nvar t = time.Now()"), nil},
		{"core-clock", "other layer", "internal/engine/x", of("package x\nimport \"time\"\nvar t = time.Now()"), nil},

		{"core-random", "global source", "internal/core/x", of("package x\nimport \"math/rand\"\nvar n = rand.Intn(3)"), []string{"internal/core/x/a.go:3"}},
		{"core-random", "global source, version 2", "internal/core/x", of("package x\nimport \"math/rand/v2\"\nvar n = rand.IntN(3)"), []string{"internal/core/x/a.go:3"}},
		{"core-random", "entropy of the system", "internal/core/x", of("package x\nimport \"crypto/rand\"\nvar r = rand.Reader"), []string{"internal/core/x/a.go:3"}},
		{"core-random", "seeded source", "internal/core/x", of("package x\nimport \"math/rand/v2\"\nfunc f(r *rand.Rand) int { return r.IntN(3) + rand.New(rand.NewPCG(1, 2)).IntN(3) }"), nil},
		{"core-random", "other layer", "internal/engine/x", of("package x\nimport \"math/rand/v2\"\nvar n = rand.IntN(3)"), nil},

		{"inspect-values", "each way to show", inspect, of(importing("github.com/spf13/cobra", "os", "github.com/jedib0t/go-pretty/v6/table")),
			[]string{inspect + "/a.go:4", inspect + "/a.go:5", inspect + "/a.go:6"}},
		{"inspect-values", "errors have words", inspect, of(importing("fmt", "errors")), nil},
		{"inspect-values", "test file", inspect, inTest(importing("os")), nil},
		{"inspect-values", "other layer", "internal/engine/operate", of(importing("io")), nil},

		{"no-sleep-in-tests", "sleeping test", "internal/engine/x", inTest("package x\nimport \"time\"\nfunc f() { time.Sleep(1) }"), []string{"internal/engine/x/a_test.go:3"}},
		{"no-sleep-in-tests", "timer in a test", "internal/engine/x", inTest("package x\nimport \"time\"\nvar c = time.After(1)"), nil},
		{"no-sleep-in-tests", "production code", "internal/engine/x", of("package x\nimport \"time\"\nfunc f() { time.Sleep(1) }"), nil},
	}
}

func docFixtures() []fixture {
	return []fixture{
		{"package-doc", "none", "internal/core/x", of("package x"), []string{"internal/core/x"}},
		{"package-doc", "cut off by a blank line", "internal/core/x", of("// Package x is lost.\n\npackage x"), []string{"internal/core/x"}},
		{"package-doc", "other name", "internal/core/x", of("// Package y is wrong.\npackage x"), []string{"internal/core/x/a.go:1"}},
		{"package-doc", "longer name", "internal/core/x", of("// Package xs is wrong.\npackage x"), []string{"internal/core/x/a.go:1"}},
		{"package-doc", "no sentence", "internal/core/x", of("// Package x\npackage x"), []string{"internal/core/x/a.go:1"}},
		{"package-doc", "program described as a package", "cmd/patra", of("// Package main runs.\npackage main"), []string{"cmd/patra/a.go:1"}},
		{"package-doc", "only in a test file", "internal/core/x", map[string]string{"a.go": "package x", "a_test.go": "// Package x hides.\npackage x"}, []string{"internal/core/x"}},
		{"package-doc", "two", "internal/core/x", map[string]string{"a.go": "// Package x does.\npackage x", "b.go": "// Package x does too.\npackage x"}, []string{"internal/core/x/b.go:2"}},
		{"package-doc", "package", "internal/core/x", of("// Package x does.\npackage x"), nil},
		{"package-doc", "program", "cmd/patra", of("// Command patra runs.\npackage main"), nil},
		{"package-doc", "package of tests alone", "internal/core/x", inTest("// Package x proves.\npackage x_test"), nil},
	}
}

func habitFixtures() []fixture {
	full := "package x" + strings.Repeat("\n", maxLines)
	asksOperation := "package x\nimport \"" + our + "internal/core/ingest\"\nvar o = ingest.Update"
	six := "A(); B(); C(); D(); E(); F()"
	return []fixture{
		{"planner-operations", "question elsewhere", planner, of(asksOperation), []string{planner + "/a.go:3"}},
		{"planner-operations", "where the value is chosen", planner, map[string]string{"operation.go": asksOperation}, nil},
		{"planner-operations", "test file", planner, inTest(asksOperation), nil},
		{"planner-operations", "other package", "internal/engine/trigger", of(asksOperation), nil},

		{"interface-size", "seven methods", "internal/engine/x", of("package x\ntype s interface { " + six + "; G() }"), []string{"internal/engine/x/a.go:2"}},
		{"interface-size", "seven methods, some without a name", "internal/engine/x", of("package x\ntype s interface { " + six + "; interface { G() } }"), []string{"internal/engine/x/a.go:2"}},
		{"interface-size", "parameter", "internal/core/x", of("package x\nfunc f(interface { " + six + "; G() }) {}"), []string{"internal/core/x/a.go:2"}},
		{"interface-size", "composed of named ones", "internal/engine/x", of("package x\ntype s interface { a; b; " + six + " }\ntype a interface { G() }\ntype b interface { H() }"), nil},
		{"interface-size", "test file", "internal/engine/x", inTest("package x\ntype s interface { " + six + "; G() }"), nil},

		{"file-length", "one line too many", "internal/core/x", of(full + "\n"), []string{"internal/core/x/a.go"}},
		{"file-length", "long test", "internal/core/x", inTest(full + "\n"), []string{"internal/core/x/a_test.go"}},
		{"file-length", "just full", "internal/core/x", of(full), nil},
		{"file-length", "generated", "internal/core/x", of("// Code generated by x. DO NOT EDIT.\n\n" + full), nil},

		{"package-name", "folder", "internal/core/util/text", of("package text"), []string{"internal/core/util/text"}},
		{"package-name", "package clause", "internal/core/x", of("package helpers"), []string{"internal/core/x/a.go:1"}},
		{"package-name", "external test", "internal/core/x", inTest("package misc_test"), []string{"internal/core/x/a_test.go:1"}},
		{"package-name", "name that only contains one", "internal/core/database", of("package database"), nil},

		{"narrow-structs", "one field too many", "internal/engine/executor", of("package executor\ntype wide struct {\n" + strings.Repeat("\t_, _ int\n", 8) + "}"), []string{"internal/engine/executor/a.go:2"}},
		{"narrow-structs", "as many as there may be", "internal/engine/executor", of("package executor\ntype part struct { a, b int }\ntype just struct {\n\tpart\n" + strings.Repeat("\t_, _ int\n", 7) + "}"), nil},
		{"narrow-structs", "test file", "internal/engine/executor", inTest("package executor\ntype wide struct {\n" + strings.Repeat("\t_, _ int\n", 8) + "}"), nil},
		{"narrow-structs", "other folder", "internal/engine/x", of("package x\ntype wide struct {\n" + strings.Repeat("\t_, _ int\n", 8) + "}"), nil},
		{"walks-chosen-once", "both questions", "internal/engine/executor", of("package executor\nfunc f(p prog) bool { return p.Detail == nil }\nfunc g(r run) bool { return r.program.Detail != nil }"), []string{"internal/engine/executor/a.go:2", "internal/engine/executor/a.go:3"}},
		{"walks-chosen-once", "where it is chosen", "internal/engine/executor", of("package executor\nfunc newDelivery(p prog) bool { return p.Detail == nil }"), nil},
		{"walks-chosen-once", "other fields", "internal/engine/executor", of("package executor\nfunc f(p prog) bool { return p.Estimate == nil && p.Detail == p.Other }"), nil},
		{"walks-chosen-once", "other folder", "internal/engine/x", of("package x\nfunc f(p prog) bool { return p.Detail == nil }"), nil},
		{"no-init", "production", "internal/engine/x", of("package x\nfunc init() {}"), []string{"internal/engine/x/a.go:2"}},
		{"no-init", "test", "internal/engine/x", inTest("package x\nfunc init() {}"), []string{"internal/engine/x/a_test.go:2"}},
		{"no-init", "method", "internal/engine/x", of("package x\ntype t int\nfunc (t) init() {}"), nil},
		{"no-init", "outside internal", "cmd/patra", of("package main\nfunc init() {}"), nil},
	}
}
