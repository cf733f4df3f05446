package document

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// flatRecord is what every format can say.
type flatRecord map[string]string

var flatNames = []string{"id", "title", "Été"}

// drawText leaves out what XML cannot carry or does not keep: control
// characters, carriage returns and white space at the ends.
func drawText(t *rapid.T) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r >= ' ' && r != 0xFFFE && r != 0xFFFF:
			return r
		}
		return -1
	}, rapid.String().Draw(t, "text"))
	text += rapid.SampledFrom([]string{"", `"`, `,"`, "a\nb", "<&>]]>", "é😀", `\u0041`, "9007199254740993"}).Draw(t, "tail")
	return strings.Trim(text, xmlSpace)
}

func writeRecords(records []flatRecord) map[Format][]byte {
	var lines, rows, elements bytes.Buffer
	list := []flatRecord{}
	table := csv.NewWriter(&rows)
	_ = table.Write(flatNames)
	elements.WriteString("<list>")
	for _, record := range records {
		list = append(list, record)
		line, _ := json.Marshal(record)
		lines.Write(append(line, '\n'))
		var fields []string
		elements.WriteString("<item>")
		for _, name := range flatNames {
			fields = append(fields, record[name])
			elements.WriteString("<" + name + ">")
			_ = xml.EscapeText(&elements, []byte(record[name]))
			elements.WriteString("</" + name + ">")
		}
		_ = table.Write(fields)
		elements.WriteString("</item>")
	}
	table.Flush()
	elements.WriteString("</list>")
	whole, _ := json.Marshal(list)
	return map[Format][]byte{FormatJSON: whole, FormatJSONL: lines.Bytes(), FormatCSV: rows.Bytes(), FormatXML: elements.Bytes()}
}

// The same records give the same texts and the same canonical form in every
// format.
func TestFormatsAgree(t *testing.T) {
	readers := map[Format]*Reader{}
	for _, format := range []Format{FormatJSON, FormatJSONL, FormatCSV, FormatXML} {
		items := "$"
		if format == FormatXML {
			items = "$.list.item"
		}
		readers[format] = mustShape(t, Shape{Items: mustPath(t, items), Item: mustPaths(t, "$.id", "$.title", "$['Été']"), Format: format})
	}
	rapid.Check(t, func(t *rapid.T) {
		var records []flatRecord
		for range rapid.IntRange(0, 5).Draw(t, "records") {
			record := flatRecord{}
			for _, name := range flatNames {
				record[name] = drawText(t)
			}
			records = append(records, record)
		}
		for format, body := range writeRecords(records) {
			page, err := readers[format].Read(body, Limits{})
			says := format != FormatJSONL || len(records) > 0 // no lines say nothing
			if err != nil || page.HasItems != says || len(page.Items) != len(records) {
				t.Fatalf("%s: %d of %d items, %v in %q", format, len(page.Items), len(records), err, body)
			}
			for i, item := range page.Items {
				compareRecord(t, format, item, records[i])
			}
		}
	})
}

func compareRecord(t *rapid.T, format Format, item Item, record flatRecord) {
	want, _ := json.Marshal(record)
	if got := canonicalRaw(t, item.JSON); item.Err != nil || got != canonicalRaw(t, want) {
		t.Fatalf("%s: canonical %s of %q (%v)", format, got, item.Raw, item.Err)
	}
	for i, name := range flatNames {
		if text, ok := item.Values[i].Text(); !ok || text != record[name] {
			t.Fatalf("%s: %s is %q, want %q", format, name, text, record[name])
		}
	}
}

// A body cut anywhere is an error. Only lines cut at a line end are a shorter
// list.
func TestFormatsCut(t *testing.T) {
	records := []flatRecord{{"id": "1", "title": "a\n\"b\"", "Été": "é"}, {"id": "2", "title": "", "Été": `,`}, {"id": "3", "title": "x", "Été": "y"}}
	for format, body := range writeRecords(records) {
		items := "$"
		if format == FormatXML {
			items = "$.list.item"
		}
		reader := mustShape(t, Shape{Items: mustPath(t, items), Item: mustPaths(t, "$.id"), Format: format})
		var accepted []int
		for cut := range body {
			page, err := reader.Read(body[:cut], Limits{})
			if err != nil {
				continue
			}
			accepted = append(accepted, len(page.Items))
			for _, item := range page.Items {
				if item.Err != nil {
					t.Errorf("%s cut at %d: %v", format, cut, item.Err)
				}
			}
		}
		// A line of JSON is complete before its line break.
		want := map[Format][]int{FormatJSONL: {0, 1, 1, 2, 2, 3}, FormatCSV: {0, 1, 2}}[format]
		if !slices.Equal(accepted, want) {
			t.Errorf("%s: cut bodies read as %v items, want %v", format, accepted, want)
		}
	}
}
