package files

import (
	"strings"
	"testing"
)

func TestFindSum(t *testing.T) {
	five, long := strings.Repeat("0a", 16), strings.Repeat("1B", 32)
	l := Listed{Name: "n", Address: "https://files.example.org/base/n26n0001.xml.gz?sig=1"}
	for text, want := range map[string]string{
		"MD5(n26n0001.xml.gz)= " + five + "\n":               "md5:" + five,
		"MD5 (n26n0001.xml.gz) = " + five:                    "md5:" + five,
		five + "  n26n0001.xml.gz\n":                         "md5:" + five,
		five + " *./base/n26n0001.xml.gz\r\n":                "md5:" + five,
		strings.ToUpper(five):                                "md5:" + five,
		long + "\n":                                          "sha256:" + strings.ToLower(long),
		"SHA256(n26n0001.xml.gz)= " + long:                   "sha256:" + strings.ToLower(long),
		five + "  other\n" + long[:32] + "  n26n0001.xml.gz": "md5:" + strings.ToLower(long[:32]),
		// nothing that vouches for this file
		"":                                  "",
		"<html>Not found</html>":            "",
		"MD5(n26n0002.xml.gz)= " + five:     "",
		five + "  n26n0002.xml.gz":          "",
		five[:31]:                           "",
		five + "0":                          "",
		five + "\n" + long[:32] + "\n":      "",
		"MD5(n26n0001.xml.gz)= " + five[2:]: "",
	} {
		sum, err := l.FindSum(text)
		if sum != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, sum, err, want)
		}
	}
	if at := l.SumAddress(".md5"); at != "https://files.example.org/base/n26n0001.xml.gz.md5?sig=1" {
		t.Error(at)
	}
	if at := FromAddress("a.gz").SumAddress(".md5"); at != "a.gz.md5" {
		t.Error(at)
	}
}
