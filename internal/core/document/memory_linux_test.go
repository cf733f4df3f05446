//go:build !race

// The race detector keeps several bytes for each byte of the program, so what a process
// takes is measured without it.

package document

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// costly are documents of about so many bytes that cost as much memory as they can, and
// one as honest sources send them.
func costly(size int) map[string]func() string {
	fill := func(head, each, tail string) func() string {
		return func() string { return head + strings.Repeat(each, (size-len(head)-len(tail))/len(each)) + tail }
	}
	nested := strings.Repeat("<p>x", 60) + strings.Repeat("</p>", 60)
	return map[string]func() string{
		"empty elements":     fill("<a>", "<c/>", "</a>"),
		"small elements":     fill("<a>", "<c>1</c>", "</a>"),
		"attributes":         fill("<a>", `<c d="" e="" f=""/>`, "</a>"),
		"one letter names":   fill("<a>", "<c/><d/><e/><f/>", "</a>"),
		"text inside text":   fill("<a><b>", nested, "</b></a>"),
		"long text in text":  fill("<a><b>", strings.Repeat("<p>some words of a text ", 40)+strings.Repeat("</p>", 40), "</b></a>"),
		"one long text":      fill("<a><b>", `"`, "</b></a>"),
		"records":            fill("<a>", `<b id="1"><title>A title of some words and more of them, and a few others still, until it is as long as that of a record of a real source</title><name first="Jane">Doe</name><date>2025-03-01</date></b>`, "</a>"),
		"elements of a text": fill("<a><b>", "word <i>w</i> ", "</b></a>"),
		"tags that are none": fill("<a>", "<", "</a>"),
	}
}

// mostPeak is what a process may have at most to read 16 MB of XML, all of it: the
// program, the body, and what garbage is left for the collector.
const mostPeak = 320 << 20

// 16 MB of XML took 810 MB. What a document of that size can take at most is measured
// on a process of its own.
func TestTrust07MemoryOfXML(t *testing.T) {
	const size = 16 << 20
	if name := os.Getenv("PATRA_TEST_XML"); name != "" {
		body := []byte(costly(size)[name]())
		reader := mustShape(t, Shape{Items: mustPath(t, "$.a.b"), Item: []Path{mustPath(t, "$.title"), mustPath(t, "$.c['#text']")}, Format: FormatXML})
		page, err := reader.Read(body, Limits{})
		fmt.Printf("peak %d read %v %v\n", peakMemory(t), page != nil, err)
		return
	}
	var names []string
	for name := range costly(1000) {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		child := exec.Command(os.Args[0], "-test.run=^TestTrust07MemoryOfXML$")
		child.Env = append(os.Environ(), "PATRA_TEST_XML="+name, "GOMAXPROCS=2")
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "read ") {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		var peak int
		if _, err := fmt.Sscanf(string(out), "peak %d", &peak); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		t.Logf("%-20s %4d MB  %s", name, peak>>20, strings.SplitN(string(out), "\n", 2)[0])
		if peak > mostPeak {
			t.Errorf("%s: a process took %d MB to read %d MB", name, peak>>20, size>>20)
		}
		if name == "records" && !strings.Contains(string(out), "read true <nil>") {
			t.Errorf("%s", out)
		}
	}
}

// peakMemory is the most memory that this process ever had. What the system tells the
// parent of a process counts that of the parent too.
func peakMemory(t *testing.T) (bytes int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}
