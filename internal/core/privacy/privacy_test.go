package privacy

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPersonalValuesAreHidden(t *testing.T) {
	for _, c := range []struct{ text, hidden, kind string }{
		{"write to jane.doe@example.org, please", "jane.doe@example.org", "email"},
		{`{"email":"Jane.Doe+x@mail.example.co.uk"}`, "Jane.Doe+x@mail.example.co.uk", "email"},
		{"https://api.example.org/works?mailto=jane%40example.org&rows=5", "jane%40example.org", "email"},
		{"mailto=jane%2Bharvest%40example.org", "jane%2Bharvest%40example.org", "email"},
		{`{"email":"jane\u0040example.org"}`, `jane\u0040example.org`, "email"},
		{`line\njane@example.org`, "jane@example.org", "email"},
		{"jane&#64;example.org", "jane&#64;example.org", "email"},
		{"джейн@пример.рф", "джейн@пример.рф", "email"},
		{"<jane_doe@host.example.museum>", "jane_doe@host.example.museum", "email"},
		{"jane@example.org.", "jane@example.org", "email"},
		{"jane@example.xn--p1ai", "jane@example.xn--p1ai", "email"},
		{"call +49 151 23456789 now", "+49 151 23456789", "phone"},
		{"call +1 (555) 123-4567.", "+1 (555) 123-4567", "phone"},
		{`"+4915123456789"`, "+4915123456789", "phone"},
		{"tel:%2B4915123456789", "%2B4915123456789", "phone"},
		{"(555) 123-4567", "(555) 123-4567", "phone"},
		{"or 555-123-4567, or", "555-123-4567", "phone"},
		{"or 555.123.4567", "555.123.4567", "phone"},
		{`{"phone":"030 1234567"}`, "030 1234567", "phone"},
		{`{"telephone": 0301234567}`, "0301234567", "phone"},
		{"Tel.: 030/1234567", "030/1234567", "phone"},
		{"fax 030-123456", "030-123456", "phone"},
		{"电话：13812345678", "13812345678", "phone"},
		{"my number is 13812345678 since May", "13812345678", "phone"},
		{"身份证 11010519491231002X 号", "11010519491231002X", "person"},
		{`{"id_card":"440524188001010014"}`, "", ""}, // a birthday of 1880 is none
	} {
		got := Mask(c.text)
		if c.hidden == "" {
			if got != c.text {
				t.Errorf("%s became %s", c.text, got)
			}
			continue
		}
		before, after, found := strings.Cut(c.text, c.hidden)
		if !found || !strings.HasPrefix(got, before+"["+c.kind+":") || !strings.HasSuffix(got, "]"+after) || len(got) != len(before)+len(after)+hashLetters+len("[:]")+len(c.kind) {
			t.Errorf("%s became %s", c.text, got)
		}
	}
}

// The literature is full of numbers that are no telephone.
func TestIdsStayReadable(t *testing.T) {
	for _, text := range []string{
		"10.1000/182", "10.1016/0021-9258(19)52451-6", "10.1234/5678901234", "https://doi.org/10.13812/13812345678", "10.5555/555-123-4567",
		"PMID: 13812345678", "PMID 31452104", "PMC6703475", "pmid:31452104", `{"pmid":"31452104"}`, `{"id":13812345678}`, `{"id":"13812345678"}`, "13812345678",
		"ISSN 1234-5678", "0378-5955", "2049-3630", "ISBN 978-3-16-148410-0", "9783161484100", "0-306-40615-2", "S0021-9258(19)52451-6",
		"0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097", "0000-0002-1825-009X",
		"2025-03-01T10:00:00+00:00", "2025-03-01T10:00:00.123456+0530", "20250301120000", "1741392000", "1741392000123", "2025-03-01", "01.03.2025",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sha256:1234567890", "550e8400-e29b-41d4-a716-446655440000",
		"W2741809807", "85012345678", "arXiv:2101.12345v2", "192.168.100.200", "2001:db8::1", "https://api.example.org/works?rows=1000&offset=13812345678",
		"pp. 123-456", "+1.2345678", "p<0.00000001", "1,234,567,890", "a@b", "@example", "user@", "x @ y.zz", "npm i @scope/pkg@1.2.3", "5 @ 3.5", "grant 1234567890",
		"cells 1234567", "hotel 1234567", "W3.org/2001", "telomere 12345678", "ing-12-3", "v1.2.3+20250301", "C++11", "100000000000000000", "123456789012345678",
		"a+b@", "[email:abcdefgh]", "[phone:abcdefgh]", "phone:[phone:abcdefgh]",
	} {
		if got := Mask(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// §14.10: what is hidden can still be compared.
func TestEqualValuesHaveEqualMarks(t *testing.T) {
	for _, equal := range [][]string{
		{"jane@example.org", "Jane@Example.ORG", "jane%40example.org", `jane\u0040example.org`},
		{"+49 151 23456789", "+4915123456789", "%2B49-151-23456789"},
	} {
		for _, other := range equal {
			if Mask(other) != Mask(equal[0]) {
				t.Errorf("%s and %s differ: %s, %s", other, equal[0], Mask(other), Mask(equal[0]))
			}
		}
	}
	if Mask("jane@example.org") == Mask("john@example.org") || Mask("+4915123456789") == Mask("+4915123456788") {
		t.Error("different values have one mark")
	}
}

// What the limit cuts in two is hidden as a whole.
func TestSampleCutsNoAddressInTwo(t *testing.T) {
	const address = "a.rather.long.name@mail.example.org"
	for pad := range 80 {
		text := []byte(strings.Repeat("x", pad) + " " + address + " and more")
		got := MaskOf(text, 60)
		if strings.Contains(got, "a.rat") || len(got) > 60 || !utf8.ValidString(got) {
			t.Fatalf("behind %d letters: %s", pad, got)
		}
	}
}

var pieces = rapid.SampledFrom([]string{
	"a", "jane", "@", "%40", `\u0040`, "&#64;", ".", "org", "example.org", "+", "%2B", "49", "151", "23456789", "(555)", " ", "-", "555-123-4567", "13812345678",
	"phone", "tel:", "\"", ":", "/", "11010519491231002X", "\\n", "电话", "[", "]", "=", "0", "00", "\xff", "[email:abcdefgh]", "é",
})

func TestMaskingIsIdempotentAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 14).Draw(t, "text"), "")
		law(t, text)
	})
}

func FuzzMask(f *testing.F) {
	for _, text := range []string{"jane@example.org", "+49 15112345 (555) 123-4567", "phone:13812345678", "a@b.co+12345678", "11010519491231002X"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { law(t, text) })
}

func law(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text string) {
	t.Helper()
	once := Mask(text)
	if twice := Mask(once); twice != once {
		t.Fatalf("%q: once %q, twice %q", text, once, twice)
	}
	if len(once) > 3*len(text) {
		t.Fatalf("%q grew to %q", text, once)
	}
	if utf8.ValidString(text) && !utf8.ValidString(once) {
		t.Fatalf("%q became %q, which is no text", text, once)
	}
}

// Sixteen times the text takes about sixteen times as long, also for the worst texts.
func TestProofMaskingIsLinear(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("a proof, because it measures time: set PATRA_PROOF=1")
	}
	for _, piece := range []string{"a", "@", "a@", "a@b", "a.b", "+1", "1 ", "(", "(1", "1-", "phone ", "tel", "%40", "\\", "1", "@a.", "+123456789012345678 "} {
		cost := func(n int) time.Duration {
			text, least := strings.Repeat(piece, n/len(piece)), time.Hour
			for range 3 {
				began := time.Now()
				Mask(text)
				least = min(least, time.Since(began))
			}
			return least
		}
		const small = 1 << 16
		if few, many := cost(small), cost(16*small); many > 100*few+time.Second {
			t.Errorf("%q: %v for 64 KB, %v for 1 MB", piece, few, many)
		}
	}
}
