package document

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func namedShape(t testing.TB) Shape {
	t.Helper()
	return Shape{Items: mustPath(t, "$.s.a"), Item: mustPaths(t, "$", "$['@n']"), Format: FormatXML, HTMLNames: true}
}

// Every name of HTML is its character, in texts and attributes, and the bytes of an item say the same without the
// document that it came from.
func TestNamesOfHTMLAreCharacters(t *testing.T) {
	for name, character := range xml.HTMLEntity {
		if len(name) > longestEntity {
			t.Errorf("&%s; is longer than %d", name, longestEntity)
		}
		page := mustRead(t, namedShape(t), fmt.Sprintf(`<!DOCTYPE s SYSTEM "s.dtd"><s><a n="&%s;">x&%s;y</a></s>`, name, name))
		var item struct {
			N    string `json:"@n"`
			Text string `json:"#text"`
		}
		if err := json.Unmarshal(page.Items[0].JSON, &item); err != nil || item.Text != "x"+character+"y" || strings.TrimSpace(item.N) != strings.TrimSpace(character) {
			t.Errorf("&%s;: %s, %v", name, page.Items[0].JSON, err)
		}
		alone := mustRead(t, Shape{Items: mustPath(t, "$.a"), Single: true, Item: mustPaths(t, "$"), Format: FormatXML}, string(page.Items[0].Raw))
		if string(alone.Items[0].JSON) != string(page.Items[0].JSON) {
			t.Errorf("&%s;: %s by itself is %s", name, page.Items[0].Raw, alone.Items[0].JSON)
		}
	}
}

func TestNamesThatNobodyKnowsAreRefused(t *testing.T) {
	for _, text := range []string{"&nosuch;", "&uuml", "& ", "&;", "&UUML;", "&uuml ;"} {
		r, err := Compile(namedShape(t))
		if err != nil {
			t.Fatal(err)
		}
		if page, err := r.Read([]byte("<s><a>"+text+"</a></s>"), Limits{}); err == nil {
			t.Errorf("%s: %s", text, showItems(page))
		}
	}
	without := namedShape(t)
	without.HTMLNames = false
	r, err := Compile(without)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read([]byte("<s><a>&uuml;</a></s>"), Limits{}); err == nil {
		t.Error("a name of HTML is read where nobody asked for it")
	}
}

// A text never grows, and what hides markup or is no name stays as it is.
func TestNamesOfHTMLChangeNothingElse(t *testing.T) {
	names := slices.Sorted(maps.Keys(xml.HTMLEntity))
	rapid.Check(t, func(t *rapid.T) {
		var text, want strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "pieces") {
			switch rapid.SampledFrom([]string{"name", "five", "plain", "comment", "cdata", "number"}).Draw(t, "kind") {
			case "name":
				name := rapid.SampledFrom(names).Draw(t, "name")
				fmt.Fprintf(&text, "&%s;", name)
				if slices.Contains([]string{"amp", "lt", "gt", "quot"}, name) {
					fmt.Fprintf(&want, "&%s;", name)
				} else {
					want.WriteString(xml.HTMLEntity[name])
				}
			case "five":
				text.WriteString("&lt;b&gt;&amp;uuml;")
				want.WriteString("&lt;b&gt;&amp;uuml;")
			case "comment":
				text.WriteString("<!-- &uuml; <a> -->")
				want.WriteString("<!-- &uuml; <a> -->")
			case "cdata":
				text.WriteString("<![CDATA[&uuml;<]]>")
				want.WriteString("<![CDATA[&uuml;<]]>")
			case "number":
				text.WriteString("&#252;&#xFC;")
				want.WriteString("&#252;&#xFC;")
			default:
				plain := rapid.StringMatching(`[a-z <>;/"]{0,8}`).Draw(t, "plain")
				text.WriteString(plain)
				want.WriteString(plain)
			}
		}
		got := resolveEntities([]byte(text.String()))
		if string(got) != want.String() || len(got) > text.Len() {
			t.Fatalf("%s\n got %s\nwant %s", text.String(), got, want.String())
		}
	})
}
