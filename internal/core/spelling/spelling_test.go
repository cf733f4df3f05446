package spelling

import "testing"

func TestNearest(t *testing.T) {
	valid := []string{"name", "baseUrl", "timeout", "headers"}
	for word, want := range map[string]string{
		"baseURL": "baseUrl", "base_url": "baseUrl", "tiemout": "timeout", "header": "headers",
		"nmae": "name", "xyz": "", "hea": "headers", "he": "", "": "", "timeoutInMilliseconds": "",
	} {
		if got := Nearest(word, valid); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
