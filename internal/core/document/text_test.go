package document

import (
	"fmt"
	"strings"
	"testing"
)

const indexPage = "<html>\r\n<head><title>Index of /pubmed/baseline</title></head>\r\n<body>\r\n<pre>Name\r\n<a href=\"/pubmed/\">Parent Directory</a>\r\n" +
	"<a href=\"n0001.xml.gz\">n0001.xml.gz</a>     2026-01-10 13:37   19M\r\n<a href=\"n0001.xml.gz.md5\">n0001.xml.gz.md5</a> 2026-01-10 13:37   60\r\n" +
	"\r\n<a href=\"n0002.xml.gz\">n0002.xml.gz</a>     2026-01-11 13:37   20M\r\n</pre>\r\n</body></html>\r\n"

func textReader(t *testing.T, text Text) (*Reader, error) {
	t.Helper()
	name, _ := ParsePath("$.name")
	date, _ := ParsePath("$.date")
	root, _ := ParsePath("$")
	return Compile(Shape{Format: FormatText, Items: root, Item: []Path{name, date}, Text: text})
}

// The lines of an index page are files, each known or left out by name. A line that nobody
// knows is a bad item, and a page without its end no page.
func TestTextHasAnItemPerLine(t *testing.T) {
	how := Text{Line: `href="(?P<name>n\d+\.xml\.gz)">.*</a>\s+(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d)`, Skip: `^</?(html|head|body|pre|a href="/pubmed/")|\.md5<`, Last: `</html>`}
	r, err := textReader(t, how)
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Read([]byte(indexPage), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range page.Items {
		got = append(got, fmt.Sprintf("%s %v %s", item.JSON, item.Err, item.Raw))
	}
	want := `{"name":"n0001.xml.gz","date":"2026-01-10 13:37"} <nil> <a href="n0001.xml.gz">n0001.xml.gz</a>     2026-01-10 13:37   19M
{"name":"n0002.xml.gz","date":"2026-01-11 13:37"} <nil> <a href="n0002.xml.gz">n0002.xml.gz</a>     2026-01-11 13:37   20M`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	unknown := strings.Replace(indexPage, "<a href=\"n0002.xml.gz\">", "<a href=\"n0002.new.gz\">", 1)
	if page, err = r.Read([]byte(unknown), Limits{}); err != nil || len(page.Items) != 2 || page.Items[1].Err == nil {
		t.Errorf("a line that nobody knows is left out: %+v %v", page, err)
	}
	for cut := range len(indexPage) - len("</html>\r\n") {
		if page, err := r.Read([]byte(indexPage[:cut]), Limits{}); err == nil {
			t.Fatalf("cut at %d: %d items", cut, len(page.Items))
		}
	}
	if page, err = r.Read([]byte("<html>\n</html>\n"), Limits{}); err != nil || page.HasItems || page.Lacks == "" {
		t.Errorf("a page without files: %+v %v", page, err)
	}
	for _, bad := range []Text{{}, {Line: "("}, {Line: "name"}, {Line: "(?P<name>.)", Skip: "["}} {
		if _, err := textReader(t, bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// What a line that is no item says holds for every item below it, such as the folder that an index page is of.
func TestTextTellsOfTheItemsBelow(t *testing.T) {
	r, err := textReader(t, Text{Line: `href="(?P<name>n\d+)"`, Skip: `<title>Index of /(?P<folder>\w+)|^<h1>|</html>`})
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Read([]byte("<a href=\"n0\">\n<title>Index of /base</title>\n<h1>x\n<a href=\"n1\">\n<a href=\"n2\">\n<title>Index of /up</title>\n<a href=\"n3\">\n</html>\n"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range page.Items {
		got = append(got, string(item.JSON))
	}
	if want := `{"name":"n0"} {"name":"n1","folder":"base"} {"name":"n2","folder":"base"} {"name":"n3","folder":"up"}`; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := textReader(t, Text{Line: "(?P<name>.)", Skip: "(?P<name>.)"}); err == nil {
		t.Error("one name for two things is taken")
	}
}
