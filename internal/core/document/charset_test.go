package document

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
)

func utf16Body(text string, order binary.AppendByteOrder) string {
	out := []byte{}
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func charsetReader(t testing.TB) *Reader {
	return mustShape(t, Shape{Items: mustPath(t, "$.s.a"), Page: mustPaths(t, "$.s.t"), Item: mustPaths(t, "$.id", "$.x", "$['@y']"), Format: FormatXML})
}

func TestCharsets(t *testing.T) {
	const plain = `<s><t>é😀</t></s>`
	for name, test := range map[string]struct{ body, want string }{
		"UTF-8":                   {plain, `"é😀"`},
		"UTF-8, declared":         {`<?xml version="1.0" encoding="utf-8"?>` + plain, `"é😀"`},
		"UTF-8, space before":     {"\n" + `<?xml version='1.0' encoding = 'Utf-8' ?>` + plain, `"é😀"`},
		"UTF-8 with a mark":       {"\ufeff" + plain, `"é😀"`},
		"mark over declaration":   {"\ufeff" + `<?xml version="1.0" encoding="ISO-8859-1"?>` + plain, `"é😀"`},
		"UTF-16 big":              {utf16Body(`<?xml version="1.0" encoding="UTF-16"?>`+plain, binary.BigEndian), `"é😀"`},
		"UTF-16 little":           {utf16Body(plain, binary.LittleEndian), `"é😀"`},
		"Latin 1":                 {"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><s><t>\xe9\xa0\x80</t></s>", "\"\u00e9\u00a0\u0080\""},
		"ASCII":                   {`<?xml version="1.0" encoding="US-ASCII" standalone="yes"?><s><t>e&#233;</t></s>`, `"eé"`},
		"no root for a charset":   {`<?xml version="1.0" encoding="US-ASCII"?>`, ""},
		"not ASCII":               {`<?xml version="1.0" encoding="US-ASCII"?><s><t>é</t></s>`, ""},
		"other":                   {`<?xml version="1.0" encoding="windows-1252"?><s><t>e</t></s>`, ""},
		"UTF-16 in name only":     {`<?xml version="1.0" encoding="UTF-16"?><s><t>e</t></s>`, ""},
		"UTF-16 without a mark":   {utf16Body(plain, binary.BigEndian)[2:], ""},
		"UTF-16, odd":             {utf16Body(plain, binary.BigEndian) + "\x00", ""},
		"UTF-16, half a pair":     {strings.Replace(utf16Body(plain, binary.BigEndian), "\xde\x00", "", 1), ""},
		"UTF-16, pair at the end": {utf16Body("<s/>", binary.BigEndian) + "\xd8\x3d", ""},
		"declared too late":       {"<?xml version=\"1.0\" " + strings.Repeat(" ", maxDeclaration) + "encoding=\"iso-8859-1\"?><s><t>e</t></s>", ""},
	} {
		page, err := charsetReader(t).Read([]byte(test.body), Limits{})
		if test.want == "" {
			if _, ok := errors.AsType[*SyntaxError](err); !ok {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || show(page.Values) != test.want {
			t.Errorf("%s: %v %v", name, page, err)
		}
	}
}

// Offsets and raw bytes of a converted body are those after the conversion.
func TestCharsetOffsets(t *testing.T) {
	for _, body := range []string{"\ufeff<s><t>é</t><a>1</a></s>", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><s><t>\xe9</t><a>1</a></s>"} {
		page, err := charsetReader(t).Read([]byte(body), Limits{})
		if err != nil || raws(page) != "<a>1</a>" {
			t.Fatalf("%v %v", page, err)
		}
		if strings.HasPrefix(body, "\ufeff") && !strings.HasPrefix(body[page.Items[0].Offset:], "<a>") {
			t.Errorf("offset %d", page.Items[0].Offset)
		}
	}
}

func TestIllegalBytes(t *testing.T) {
	for body, want := range map[string]string{ // "" is a refused page
		"<s><a><id>1</id><x>\xff</x></a><a y=\"b\"><id>2</id></a></s>":               `?"1" null -|"2" - "b"`,
		"<s><a><id>1</id></a><a y=\"\xff\"><id>2</id><x>z</x></a></s>":               `"1" - -|?"2" "z" null`,
		"<s><a><id>1</id><x>v\x0bt</x></a></s>":                                      `?"1" null -`,
		"<s><a><id>1</id><!-- \xff --></a></s>":                                      `?"1" - -`,
		"\ufeff<s><t>é</t><a><id>1\x00</id></a><a><id>2</id></a></s>":                `?null - -|"2" - -`,
		"<?xml version=\"1.0\" encoding=\"latin1\"?><s><a><id>\xe9\x01</id></a></s>": `?null - -`,
		"<s><t>\xff</t><a><id>1</id></a></s>":                                        "",
		"<s><a><id>1</id></a><!-- \xff --></s>":                                      `"1" - -`,
		"<s><a><id>1</id></a>\xff</s>":                                               "",
		"<s><a><i\xffd>1</i\xffd></a></s>":                                           "",
		"<s><a><id>\x7f</id></a><a><id>\xff</id></a></s>":                            "",
		"<s><a><id>1</id><x>\xff</x></a><a>":                                         "",
		"<s><a><id>1</id></a></s>\xe2\x82":                                           "",
	} {
		page, err := charsetReader(t).Read([]byte(body), Limits{})
		if bad, ok := errors.AsType[*SyntaxError](err); want == "" {
			if !ok || bad.Offset > int64(len(body)) {
				t.Errorf("%q: %v", body, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", body, err)
			continue
		}
		var got []string
		for _, item := range page.Items {
			text := show(item.Values)
			if item.Err != nil {
				text = "?" + text
			}
			if (item.Err == nil) == (item.JSON == nil) {
				t.Errorf("%q: error %v, JSON %s", body, item.Err, item.JSON)
			}
			got = append(got, text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %v, want %s", body, got, want)
		}
		if !strings.HasPrefix(body, "<?xml") && !strings.HasPrefix(body[page.Items[0].Offset:], string(page.Items[0].Raw)) {
			t.Errorf("%q: raw %q", body, page.Items[0].Raw)
		}
	}
}
