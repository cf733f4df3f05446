package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// R5: a source that comes over the network runs, reads and reaches nothing that the
// installation does not list.
func TestR5FilesFromTheNetworkWantNothingOfTheMachine(t *testing.T) {
	var proxy secret.Ref
	if err := proxy.UnmarshalText([]byte("env:PROXY")); err != nil {
		t.Fatal(err)
	}
	listed := Remote{Folders: []string{"/srv/secrets"}, Private: []string{"10.0.0.5:8080"}, Plain: []string{"old.example.org"}, Tokens: []string{"login.example.org"}, Proxies: []secret.Ref{proxy}}
	const safe = "http:\n  baseUrl: https://api.example.org\n"
	for _, c := range []struct {
		name, text string
		allow      Remote
		want       []string // keys that are refused
	}{
		{"nothing", safe, Remote{}, nil},
		{"a variable", safe + credential("value: env:KEY"), Remote{}, nil},
		{"a command", safe + credential("value: exec:pass show key"), Remote{}, []string{"credentials.a.value"}},
		{"a command, whatever is listed", safe + credential("value: exec:pass show key"), listed, []string{"credentials.a.value"}},
		{"a file", safe + credential("value: file:/etc/shadow"), Remote{}, []string{"credentials.a.value"}},
		{"a file elsewhere", safe + credential("value: file:/etc/shadow"), listed, []string{"credentials.a.value"}},
		{"a file in the folder", safe + credential("value: file:/srv/secrets/key"), listed, nil},
		{"a way out of the folder", safe + credential("value: file:/srv/secrets/../../etc/shadow"), listed, []string{"credentials.a.value"}},
		{"a folder with a longer name", safe + credential("value: file:/srv/secrets2/key"), listed, []string{"credentials.a.value"}},
		{"a file without a folder", safe + credential("value: file:key"), listed, []string{"credentials.a.value"}},
		{"a private address", "http:\n  baseUrl: http://127.0.0.1:80\n  allowPrivate: true\n", Remote{}, []string{"http.allowPrivate"}},
		{"a listed private address", "http:\n  baseUrl: http://10.0.0.5:8080\n  allowPrivate: true\n", listed, nil},
		{"another private address", "http:\n  baseUrl: http://10.0.0.6:8080\n  allowPrivate: true\n", listed, []string{"http.allowPrivate"}},
		{"sent on to another private address", "http:\n  baseUrl: http://10.0.0.5:8080\n  allowPrivate: true\n  redirectHosts: [\"10.0.0.6:8080\"]\n", listed, []string{"http.allowPrivate"}},
		{"sent on to a listed private address", "http:\n  baseUrl: http://10.0.0.5:8080\n  allowPrivate: true\n  redirectHosts: [\"10.0.0.5:8080\"]\n", listed, nil},
		{"said to be off", "http:\n  baseUrl: https://api.example.org\n  allowPrivate: false\n", Remote{}, nil},
		{"plain http", "http:\n  baseUrl: http://api.example.org\n  allowHttp: true\n", Remote{}, []string{"http.allowHttp"}},
		{"listed plain http", "http:\n  baseUrl: http://old.example.org\n  allowHttp: true\n", listed, nil},
		{"a proxy", safe + "  proxy: env:PATH\n", Remote{}, []string{"http.proxy"}},
		{"another proxy", safe + "  proxy: env:PATH\n", listed, []string{"http.proxy"}},
		{"a listed proxy", safe + "  proxy: env:PROXY\n", listed, nil},
		{"a proxy by command", safe + "  proxy: exec:proxy\n", listed, []string{"http.proxy"}},
		{"a token of another host", safe + credential("tokenUrl: https://evil.example.com/token"), Remote{}, []string{"credentials.a.tokenUrl"}},
		{"a token of the same host", safe + credential("tokenUrl: https://API.example.org/token"), Remote{}, nil},
		{"a token at a path", safe + credential("tokenUrl: /token"), Remote{}, nil},
		{"a token of a host without a scheme", safe + credential("tokenUrl: //evil.example.com/token"), Remote{}, []string{"credentials.a.tokenUrl"}},
		{"a token of another port", safe + credential("tokenUrl: https://api.example.org:8443/token"), Remote{}, []string{"credentials.a.tokenUrl"}},
		{"a token of a listed host", safe + credential("tokenUrl: https://login.example.org/token"), listed, nil},
		{"a login elsewhere", safe + credential("login:\n      url: https://evil.example.com/login"), Remote{}, []string{"credentials.a.login.url"}},
	} {
		src, _, err := Decode("posted.yaml", []byte("source: s\nname: S\nendpoints:\n  works:\n    role: SEARCH\n    request:\n      path: /works\n"+c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var keys []string
		for _, p := range src.RemoteProblems(c.allow) {
			keys = append(keys, p.Path)
			if p.Line == 0 || p.Code != "E-REMOTE" || strings.Contains(p.String(), "shadow") || strings.Contains(p.String(), "evil") {
				t.Errorf("%s: %s", c.name, p)
			}
		}
		if !slices.Equal(keys, c.want) {
			t.Errorf("%s: %q, want %q", c.name, keys, c.want)
		}
	}
}

func credential(text string) string { return "credentials:\n  a:\n    " + text + "\n" }
