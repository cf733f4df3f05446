package transport

import (
	"context"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// session logs in and takes the token out of the answer.
type session struct {
	credential exchange.Credential
	secrets    Secrets
	used       []secret.Text // what the login was made with
}

func (s *session) spentSecrets() []secret.Text { return s.used }

func (s *session) fillRequest(ctx context.Context, r *exchange.Request) error {
	values := map[string]string{}
	var user, longest secret.Text
	for _, name := range s.credential.Login.Names() {
		text, err := s.secrets.Reveal(ctx, s.credential.RefNamed(name), sentTo(r))
		if err != nil {
			return err
		}
		values[name] = text.Reveal()
		if name == "username" {
			user = text
			continue
		}
		s.used = append(s.used, text)
		if len(text.Reveal()) > len(longest.Reveal()) {
			longest = text
		}
	}
	s.used = secret.WithName(s.used, user, longest)
	return s.fillLogin(r, values)
}

// fillLogin writes the login call. What spans tell of it has no query (Call.private): names
// decide what is masked there, and a secret may stand under any name.
func (s *session) fillLogin(r *exchange.Request, values map[string]string) error {
	login := s.credential.Login
	if login.Method == "GET" {
		r.Method = "GET"
	}
	headers, err := login.RenderHeaders(values)
	if err != nil {
		return err
	}
	for name, value := range headers {
		r.Header[name] = value
	}
	if login.Basic {
		pair := basicPair(values["username"], values["password"])
		s.used = append(s.used, pair)
		r.Header.Set("Authorization", "Basic "+pair.Reveal())
	}
	if len(login.Query) > 0 {
		target := *r.URL
		target.RawQuery = strings.Trim(target.RawQuery+"&"+login.RenderQuery(values), "&")
		r.URL = &target
	}
	body, contentType := login.Render(values)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.Body = body
	return nil
}

func (s *session) readToken(r *exchange.Response, asked time.Time) (*token, error) {
	login := s.credential.Login
	life := unlimited
	if login.Lifetime > 0 {
		life = login.Lifetime.Std()
	}
	text := r.Header.Get(login.Header)
	if login.Cookie != "" {
		text = cookieValue(r.Header, login.Cookie)
	}
	if !login.Token.IsZero() || !login.ExpiresIn.IsZero() {
		found, seconds, err := s.readBody(r.Body)
		if err != nil {
			return nil, err
		}
		if !login.Token.IsZero() {
			text = found
		}
		if seconds != nil {
			life = tokenLifetime(*seconds)
		}
	}
	if text == "" {
		// The answer is what was promised, but for the token: a login that was
		// refused politely. Trying again would only close the account.
		return nil, fault.Newf(fault.Unauthorized, "accepted the login and gave no token: check %s, and where login looks for the token", nameReferences(s.credential))
	}
	return newToken(s.credential, text, s.used, asked, life)
}

func (s *session) readBody(body []byte) (text string, seconds *int64, err error) {
	login := s.credential.Login
	paths := []document.Path{login.Token, login.ExpiresIn}
	var asked []document.Path
	for _, path := range paths {
		if !path.IsZero() {
			asked = append(asked, path)
		}
	}
	reader, err := document.Compile(document.Shape{Page: asked})
	if err != nil {
		return "", nil, fault.New(fault.Internal, err)
	}
	page, err := reader.Read(body, document.Limits{})
	if err != nil {
		return "", nil, fault.Newf(fault.BadBody, "did not answer the login with JSON")
	}
	for i, path := range asked {
		if path == login.Token {
			text, _ = page.Values[i].Text()
		}
		if n, ok := page.Values[i].Int(); ok && path == login.ExpiresIn {
			seconds = &n
		}
	}
	return text, seconds, nil
}

// cookieValue finds the value of a cookie that an answer sets.
func cookieValue(h exchange.Header, name string) string {
	for _, line := range h["Set-Cookie"] {
		pair, _, _ := strings.Cut(line, ";")
		if found, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && found == name {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

func (s *session) explainRefusal(*exchange.Response) *fault.Error {
	return fault.Newf(fault.Unauthorized, "refused the login: check %s", nameReferences(s.credential))
}
