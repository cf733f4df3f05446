package access_test

import (
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/access"
)

func TestRolesIncludeTheOnesBefore(t *testing.T) {
	for i, r := range access.Roles() {
		for j, other := range access.Roles() {
			if got := r.Includes(other); got != (i >= j) {
				t.Errorf("%s includes %s: %v", r, other, got)
			}
		}
		if r.Includes("") || access.Role("").Includes(r) || access.Role("root").Includes(r) || r.Includes("root") {
			t.Errorf("an unknown role opens or needs nothing of %s", r)
		}
	}
}

func TestALimitedCallerSeesItsSourcesAlone(t *testing.T) {
	c := access.Caller{Name: "ci", Role: access.Admin, Sources: []string{"pubmed"}}
	if !c.Sees("pubmed") || c.Sees("crossref") || c.Sees("") || c.SeesAll() {
		t.Errorf("a caller limited to pubmed sees %v %v %v", c.Sees("pubmed"), c.Sees("crossref"), c.Sees(""))
	}
	if (access.Caller{}).Sees("pubmed") || (access.Caller{}).Sees("") || (access.Caller{}).May(access.Viewer) {
		t.Error("nobody sees something")
	}
}

// spelled is the form of a token: scanners of leaked secrets look for it.
var spelled = regexp.MustCompile(`^patra_[A-Za-z0-9_-]{43}$`)

func TestATokenIsSpelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var random [access.SecretBytes]byte
		copy(random[:], rapid.SliceOfN(rapid.Byte(), len(random), len(random)).Draw(t, "random"))
		text := access.Spell(random)
		if !spelled.MatchString(text) {
			t.Fatalf("%s is no token", text)
		}
	})
}

func TestASessionEndsWithItsTokenAndByItself(t *testing.T) {
	begin := time.Date(2026, 11, 16, 3, 0, 0, 0, time.UTC)
	token := access.Token{Expires: begin.Add(24 * time.Hour)}
	for name, c := range map[string]struct {
		session access.Session
		after   time.Duration
		want    bool
	}{
		"fresh":    {access.Session{Token: token, Created: begin, Seen: begin}, 29 * time.Minute, true},
		"idle":     {access.Session{Token: token, Created: begin, Seen: begin}, 30 * time.Minute, false},
		"old":      {access.Session{Token: token, Created: begin, Seen: begin.Add(12*time.Hour - time.Minute)}, 12 * time.Hour, false},
		"not old":  {access.Session{Token: token, Created: begin, Seen: begin.Add(12*time.Hour - 2*time.Minute)}, 12*time.Hour - time.Minute, true},
		"no token": {access.Session{Token: access.Token{Expires: begin}, Created: begin, Seen: begin}, 0, false},
		"revoked":  {access.Session{Token: access.Token{Expires: token.Expires, Revoked: begin}, Created: begin, Seen: begin}, 0, false},
	} {
		if got := c.session.Valid(begin.Add(c.after)); got != c.want {
			t.Errorf("%s: valid is %v", name, got)
		}
	}
}
