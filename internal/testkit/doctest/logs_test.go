package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const logsPage = "docs/logs.md"

// loggingRooms are where lines are written: every package that has a logger.
var loggingRooms = []string{
	"internal/engine/executor", "internal/engine/dispatch", "internal/engine/heal", "internal/engine/trigger", "internal/engine/worklog",
	"internal/engine/maintenance", "internal/engine/outbox", "internal/engine/alert", "internal/engine/export", "internal/daemon", "internal/driver/redisgate", "internal/cli/term", "internal/surface/traces", "internal/surface/entrance",
}

var inBackticks = regexp.MustCompile("`([^`]+)`")

// explainedLines reads the messages in the first columns of the tables of lines.
func explainedLines(p page) (out []string) {
	inside := false
	for _, l := range p.lines() {
		if strings.HasPrefix(l.text, "## ") {
			inside = strings.HasPrefix(l.text, "## Lines of ")
		}
		if cells := strings.Split(l.text, "|"); inside && l.fence == "" && len(cells) > 3 {
			for _, m := range inBackticks.FindAllStringSubmatch(cells[1], -1) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// logCall are the calls that write a line, by the place of its message.
var logCall = map[string]int{"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "Log": 2, "logTrouble": 1}

// writtenLines reads the rooms: all texts in them, and those that are messages for sure.
func writtenLines(t *testing.T, rooms []string) (texts, messages []string) {
	t.Helper()
	for _, room := range rooms {
		files, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(room), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", room, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if text, ok := textOf(n); ok {
					texts = append(texts, text)
				}
				if call, ok := n.(*ast.CallExpr); ok {
					messages = append(messages, messageOf(call)...)
				}
				return true
			})
		}
	}
	return texts, messages
}

func textOf(n ast.Node) (string, bool) {
	literal, ok := n.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

func messageOf(call *ast.CallExpr) []string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if at, known := logCall[method.Sel.Name]; known && len(call.Args) > at {
		if text, ok := textOf(call.Args[at]); ok {
			return []string{text}
		}
	}
	return nil
}

// TestEveryLineIsExplained: who finds a line at night looks for it on the page.
func TestEveryLineIsExplained(t *testing.T) {
	explained := explainedLines(pageAt(t, logsPage))
	texts, messages := writtenLines(t, loggingRooms)
	if len(explained) < 30 || len(messages) < 30 {
		t.Fatalf("only %d lines on the page, %d in the code", len(explained), len(messages))
	}
	for _, message := range messages {
		if !slices.Contains(explained, message) {
			t.Errorf("%s does not explain the line %q", logsPage, message)
		}
	}
	for _, message := range explained {
		if !slices.Contains(texts, message) {
			t.Errorf("%s explains %q, which is never written", logsPage, message)
		}
	}
}
