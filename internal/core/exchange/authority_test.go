package exchange

import (
	"net/url"
	"strings"
	"testing"
)

// A port that no machine has is refused where it is written.
func TestTrust08Ports(t *testing.T) {
	for port, good := range map[string]bool{"": true, ":1": true, ":443": true, ":65535": true, ":0": false, ":65536": false, ":99999": false, ":4294967739": false} {
		_, err := ParseBaseURL(Config{BaseURL: "https://api.example.org" + port + "/v1"})
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "from 1 to 65535") {
			t.Errorf("%q: %v", port, err)
		}
		_, err = TokenEndpoint(&url.URL{Scheme: "https", Host: "api.example.org"}, false, "https://login.example.org"+port+"/token")
		if (err == nil) != good {
			t.Errorf("token at %q: %v", port, err)
		}
	}
}

// A host that looks like another one is refused where it is written, and where an
// answer leads to it.
func TestTrust01HostsAreASCII(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "api.example.org"}
	const alike = "https://ap\u0130.example.org/v1"
	if _, err := ParseBaseURL(Config{BaseURL: alike}); err == nil {
		t.Error("taken as a base address")
	}
	if _, err := TokenEndpoint(base, false, alike); err == nil {
		t.Error("taken as a token address")
	}
	to, err := url.Parse(alike)
	if err != nil {
		t.Fatal(err)
	}
	if sameOrigin(base, to) == nil {
		t.Error("taken for the same host")
	}
}
