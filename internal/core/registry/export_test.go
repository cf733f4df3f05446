package registry

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// through reads back what Export wrote.
func through(t failer, src *Source) *Source {
	t.Helper()
	text := Export(src)
	back, _, err := Decode("export.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	sameLeaves(t, src, back)
	if before, after := Rows(src), Rows(back); !reflect.DeepEqual(before, after) {
		t.Fatalf("rows changed:\n%v\n%v", before, after)
	}
	if again := Export(back); string(again) != string(text) {
		t.Fatalf("the second export differs:\n%s\n%s", text, again)
	}
	return back
}

func TestExportIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves := leafSet{}
		leaves.addLeaf(Leaf{Path: Path{"source"}, Value: "src"})
		leaves.addLeaf(Leaf{Path: Path{"name"}, Value: "Näme"})
		draw(t, sourceShape(), nil, leaves)
		through(t, sourceOf(leaves, nil))
	})
}

// Text that YAML reads as something else, bare or in a list.
func TestExportedText(t *testing.T) {
	likely := rapid.StringMatching(`[A-Za-z0-9 _.$/'"()\[\]{}:,@+=?&<>#*!|%~\\-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(likely, rapid.String(), rapid.SampledFrom(strings.Fields(
			"* on off yes no y N true null ~ 1.0 1_000 0x10 0o7 .5 .inf -1 +1 1e3 2000-01-01 12:30:00 << = - ? : a: #b [x] {y} & ! | > % @ ` ' \" \\ --- ...")),
		).Draw(t, "text")
		if strings.ContainsRune(text, 0) {
			return
		}
		for key, inFlow := range map[string]bool{"k: ": false, "- ": false, "[": true} {
			written := key + wordsText(text, inFlow)
			if inFlow {
				written += ", x]"
			}
			root, problems := parseYAML("t.yaml", []byte(written+"\n"))
			if problems != nil {
				t.Fatalf("%q: %v", written, problems)
			}
			value := root
			if len(root.entries) > 0 {
				value = root.entries[0].value
			} else if len(root.items) > 0 {
				value = root.items[0]
			}
			if value.what != words || value.text != text {
				t.Fatalf("%q is read as %s", written, value.describeFound())
			}
		}
	})
}

func TestExportOfFiles(t *testing.T) {
	for _, name := range append(listFiles(t, "testdata/good/*.yaml"), listFiles(t, "../../../catalog/*.yaml")...) {
		through(t, decode(t, string(read(t, name))))
	}
}

func TestExportLooksLikeAFile(t *testing.T) {
	const file = `source: look
name: "Look: at # this"
docs: https://example.org/docs

http:
  baseUrl: https://api.example.org
  headers:
    "X Y": "*"
    accept: "on"
    v: "1.0"
  timeout: PT20S
  allowHttp: true

retry:
  retryStatus: [429, 503]

endpoints:
  works:
    role: SEARCH
    http:
      allowHttp: false
    request:
      path: /works
      query:
        "": ""
        filter: from:${filter.from},to:${filter.to}
        "no": "007"
        query.bibliographic: cats
    window:
      safetyLag: PT0S
      earliest: "2000-01-01"
    rate:
      perSecond: 0.5
    response:
      id: $.x['a-b']
      mustHave: [$.status, "$.items[0]"]
      required: []
    operations:
      HARVEST:
        paging:
          size: 20
      UPDATE:
        paging:
          size: 10
`
	src := decode(t, file)
	if got := string(Export(src)); got != file {
		t.Errorf("got\n%s\nwant\n%s", got, file)
	}
	long := decode(t, strings.Replace(file, "[$.status, \"$.items[0]\"]", `["$.a`+strings.Repeat("b", 90)+`", $.c]`, 1))
	if got := string(Export(long)); !strings.Contains(got, "mustHave:\n        - $.abbb") || !strings.Contains(got, "\n        - $.c\n") {
		t.Errorf("a long list is not one item a line:\n%s", got)
	}
}

// A source that code changed is written as it is now.
func TestExportOfAChangedSource(t *testing.T) {
	src := decode(t, minimalText)
	src.Name = "Other"
	delete(src.Endpoints, "list")
	src.Endpoints["more"] = Endpoint{Role: "DETAIL"}
	back := through(t, src)
	if back.Name != "Other" || len(back.Endpoints) != 1 {
		t.Errorf("%+v", back)
	}
}
