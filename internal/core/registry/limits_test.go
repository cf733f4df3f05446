package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A22: a hostile file is refused by name, before it costs anything.
func TestHostileFiles(t *testing.T) {
	tests := []struct{ name, text, says string }{
		{"size", strings.Repeat("# padding\n", 1<<17), "more than 1048576"},
		{"tokens", strings.Repeat("a: b\n", 10_000), "too many values"},
		{"flow depth", strings.Repeat("[", 500) + strings.Repeat("]", 500), "1:34: E-SYNTAX: nested deeper"},
		{"unclosed flow", strings.Repeat("[", 15_000), "not valid YAML"},
		{"list depth", strings.Repeat("- ", 500) + "x", "nested deeper"},
		{"block depth", blocks(100), "nested deeper"},
		{"aliases", "a: &a x\nb: [" + strings.Repeat("*a, ", 200) + "*a]\n", "anchors and aliases"},
		{"alias bomb", bomb(8), "aliases expand"},
		{"alias depth", ladder(50), "nested deeper"},
		{"encoding", "source: \xff\n", "UTF-8"},
		{"problems", strings.Repeat("x: {y: z}\n", 500), "there are more problems"},
		{"nul", `source: "a\0b"`, "without NUL"},
	}
	for _, tt := range tests {
		_, _, err := Decode("hostile.yaml", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %.200v, want %q", tt.name, err, tt.says)
		}
		if lines := strings.Count(fmt.Sprint(err), "\n"); lines > maxProblems+1 {
			t.Errorf("%s: %d lines", tt.name, lines)
		}
	}
}

func blocks(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return out.String()
}

// bomb has n levels of ten aliases each: 10^n values.
func bomb(n int) string {
	var out strings.Builder
	out.WriteString("a0: &a0 x\n")
	for i := range n {
		alias := fmt.Sprintf("*a%d", i)
		fmt.Fprintf(&out, "a%d: &a%d [%s]\n", i+1, i+1, strings.Join(slicesRepeat(alias, 10), ", "))
	}
	return out.String()
}

// ladder makes a deep value of shallow text.
func ladder(n int) string {
	var out strings.Builder
	out.WriteString("a0: &a0 x\n")
	for i := range n - 1 {
		fmt.Fprintf(&out, "a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	return out.String()
}

func slicesRepeat(text string, n int) []string {
	return strings.Fields(strings.Repeat(text+" ", n))
}

func TestFilesAsEditorsSaveThem(t *testing.T) {
	text := string(read(t, "testdata/good/minimal.yaml"))
	plain := decode(t, text)
	for name, variant := range map[string]string{
		"byte order mark": "\ufeff" + text,
		"windows":         strings.ReplaceAll(text, "\n", "\r\n"),
		"document marks":  "---\n" + text + "...\n",
	} {
		src := decode(t, variant)
		if src.Code != plain.Code || len(src.allLeaves()) != len(plain.allLeaves()) {
			t.Errorf("%s: %+v", name, src)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(minimalText)
	f.Add("source: &a x\nname: *a\nendpoints: {e: {role: SEARCH, http: {allowHttp: false}}}\n")
	f.Add("a: [1, {b: \"c\"}]\n---\n? x\n: !y z\n<<: *d\n")
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/check-*.yaml"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil {
				f.Add(string(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		src, origins, err := Decode("f.yaml", []byte(text))
		if err != nil {
			problems, ok := err.(Problems)
			if !ok || len(problems) == 0 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		if len(origins) == 0 || src.Code == "" || len(src.Endpoints) == 0 {
			t.Fatalf("accepted %q as %+v", text, src)
		}
		src.Validate()
		sameLeaves(t, src, throughRows(t, src))
		exported, _, err := Decode("exported.yaml", Export(src))
		if err != nil {
			t.Fatalf("the export is not read back: %v\n%s", err, Export(src))
		}
		sameLeaves(t, src, exported)
	})
}

const minimalText = `source: minimal
name: Minimal
endpoints:
  list:
    role: SEARCH
    http: {baseUrl: https://api.example.org/v1}
    request: {path: /records}
    filter: {field: updated}
    paging: {type: TOKEN}
    response: {items: $.items, id: $.id, updatedAt: $.updated}
`
