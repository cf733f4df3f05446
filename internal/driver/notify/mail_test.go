package notify

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/testkit/wiretap"
)

var oneLogin = map[string]string{"env:PASSWORD": canary}

// mailTo is a receiver that logs in to the server of a test.
func mailTo(t *testing.T, m *wiretap.Mailbox) alert.Mail {
	return alert.Mail{Server: m.Addr, CA: m.CA, From: "patra@example.org", To: []string{"oncall@example.org", "second@example.org"}, User: "patra", Password: reference(t, "env:PASSWORD")}
}

func TestMailIsEncryptedAndLogsIn(t *testing.T) {
	for name, c := range map[string]struct {
		options []wiretap.MailOption
		tls     string
	}{
		"starttls": {nil, ""}, "starttls, by LOGIN": {[]wiretap.MailOption{wiretap.Logins("LOGIN XOAUTH2")}, "starttls"}, "implicit": {[]wiretap.MailOption{wiretap.Implicit}, "implicit"},
	} {
		box := wiretap.NewMailbox(t, c.options...)
		to := mailTo(t, box)
		to.TLS = c.tls
		if err := open(t, alert.Receiver{Mail: &to}, behind(oneLogin)).Send(t.Context(), firing()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := box.Mails()[0]
		if !got.Encrypted || got.Login != "patra "+canary || got.From != to.From || strings.Join(got.To, " ") != strings.Join(to.To, " ") {
			t.Errorf("%s: %+v", name, got)
		}
		if heard := box.InClear(); strings.Contains(heard, "AUTH") || strings.Contains(heard, "MAIL") || strings.Contains(heard, canary) {
			t.Errorf("%s: in the clear: %s", name, heard)
		}
	}
}

// readMail reads what came as a mailbox would.
func readMail(t *testing.T, text string) (headers netmail.Header, subject, body string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return m.Header, subject, strings.ReplaceAll(string(raw), "\r\n", "\n")
}

func TestAMailSaysWhatHappenedAndFormsAThread(t *testing.T) {
	box := wiretap.NewMailbox(t)
	to := mailTo(t, box)
	s := open(t, alert.Receiver{Mail: &to}, behind(oneLogin))
	over := firing()
	over.ID, over.Kind = "msg-2", alert.Resolved
	over.Alerts[0].ResolvedAt = night
	for _, m := range []alert.Message{firing(), firing(), over} {
		if err := s.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	first, subject, body := readMail(t, box.Mails()[0].Text)
	if !strings.HasPrefix(subject, "[patra] CRITICAL crossref/works: paused since 2025-03-20 02:10Z: the key was refused") {
		t.Error(subject)
	}
	if body != alert.Text(firing())+"\n" || !strings.Contains(body, "\n`patra source resume crossref`\n") {
		t.Error(body)
	}
	again, _, _ := readMail(t, box.Mails()[1].Text)
	last, subject, _ := readMail(t, box.Mails()[2].Text)
	if subject != "[patra] RESOLVED crossref/works: PAUSED is over after 50m" {
		t.Error(subject)
	}
	if first.Get("Message-Id") != "<msg-1@example.org>" || again.Get("Message-Id") != first.Get("Message-Id") || last.Get("Message-Id") != "<msg-2@example.org>" || last.Get("References") != first.Get("References") {
		t.Errorf("%v\n%v\n%v", first, again, last)
	}
	if first.Get("Auto-Submitted") != "auto-generated" || first.Get("Date") != "Thu, 20 Mar 2025 03:00:00 +0000" {
		t.Error(first)
	}
}

// Part of a message are words of upstreams: none of them becomes a header.
func TestNoWordBecomesAHeader(t *testing.T) {
	box := wiretap.NewMailbox(t)
	to := mailTo(t, box)
	m := firing()
	m.ID = "a>\r\nBcc: thief@example.org"
	m.Rule = "r\r\nBcc: thief@example.org"
	m.Alerts[0].About = "crossref\r\nBcc: thief@example.org\r\n\r\nhello"
	m.Alerts[0].Text = strings.Repeat("ümläut\r\nBcc: thief@example.org\n.\r\n.\r\nMAIL FROM:<x@example.org>", 20)
	if err := open(t, alert.Receiver{Mail: &to}, behind(oneLogin)).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if len(box.Mails()) != 1 {
		t.Fatalf("%d mails", len(box.Mails()))
	}
	headers, _, body := readMail(t, box.Mails()[0].Text)
	if len(headers) != 10 || headers.Get("Bcc") != "" {
		t.Errorf("%v", headers)
	}
	if body != alert.Text(m)+"\n" {
		t.Errorf("%q", body)
	}
}

func TestAServerOfMailThatRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		line, answer string
		refused      bool
		says         string
	}{
		"greeting":     {"(greeting)", "554 " + canary, true, "greeting with code 554"},
		"busy":         {"(greeting)", "421 " + canary, false, "greeting with code 421"},
		"password":     {"AUTH", "535 " + canary, true, "login with code 535"},
		"sender":       {"MAIL", "550 " + canary, true, "sender with code 550"},
		"all":          {"RCPT", "550 " + canary, true, "address 2 of 2 with code 550"},
		"later":        {"RCPT", "450 " + canary, false, "address 2 of 2 with code 450"},
		"text":         {"(text)", "552 " + canary, true, "message with code 552"},
		"full":         {"(text)", "452 " + canary, false, "message with code 452"},
		"nonsense":     {"(greeting)", canary, false, "no answer of SMTP"},
		"wrong in TLS": {"STARTTLS", "454 " + canary, false, "encryption with code 454"},
	} {
		box := wiretap.NewMailbox(t)
		box.Answer(c.line, c.answer)
		to := mailTo(t, box)
		err := open(t, alert.Receiver{Mail: &to}, behind(oneLogin)).Send(t.Context(), firing())
		if err == nil || errors.Is(err, alert.ErrRefused) != c.refused || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		holdsNoSecret(t, err)
		if len(box.Mails()) > 0 {
			t.Errorf("%s: it was sent", name)
		}
	}
}

// Who has left the company must not keep the others from being told.
func TestOneRefusedAddressDoesNotHoldTheOthers(t *testing.T) {
	for answer, refused := range map[string]bool{"550 gone": true, "451 later": false} {
		box := wiretap.NewMailbox(t)
		box.Answer("RCPT TO:<oncall@example.org>", answer)
		to := mailTo(t, box)
		err := open(t, alert.Receiver{Mail: &to}, behind(oneLogin)).Send(t.Context(), firing())
		if err == nil || errors.Is(err, alert.ErrRefused) != refused || !strings.Contains(err.Error(), "address 1 of 2") {
			t.Error(err)
		}
		if got := box.Mails(); len(got) != 1 || strings.Join(got[0].To, " ") != "second@example.org" {
			t.Errorf("%+v", got)
		}
	}
}

func TestNothingIsMailedInTheClear(t *testing.T) {
	plain := wiretap.NewMailbox(t, wiretap.InTheClear)
	to := mailTo(t, plain)
	err := open(t, alert.Receiver{Mail: &to}, behind(oneLogin)).Send(t.Context(), firing())
	if err == nil || !strings.Contains(err.Error(), "STARTTLS") || strings.Contains(plain.InClear(), "MAIL") {
		t.Errorf("%v: %s", err, plain.InClear())
	}
	stranger := wiretap.NewMailbox(t)
	to = mailTo(t, stranger)
	to.CA = wiretap.NewAuthority(t).File
	err = open(t, alert.Receiver{Mail: &to}, behind(oneLogin)).Send(t.Context(), firing())
	if err == nil || !strings.Contains(err.Error(), "not signed by an authority") || strings.Contains(stranger.InClear(), "MAIL") {
		t.Errorf("%v: %s", err, stranger.InClear())
	}
	to = alert.Mail{Server: "mail.example.org:25", TLS: alert.NoTLS}
	if _, err := Open("ops", alert.Receiver{Mail: &to}, Options{}); err == nil {
		t.Error("tls=off is taken for another machine")
	}
	// Written out, and on this machine, it is.
	to = mailTo(t, plain)
	to.TLS, to.CA = alert.NoTLS, ""
	if err := open(t, alert.Receiver{Mail: &to}, behind(oneLogin)).Send(t.Context(), firing()); err != nil || len(plain.Mails()) != 1 {
		t.Error(err)
	}
}

func TestAServerOfMailThatSaysNothingIsNotWaitedFor(t *testing.T) {
	reached := make(chan struct{})
	silent := wiretap.Listen(t, "127.0.0.1", func(conn net.Conn) {
		close(reached)
		_, _ = io.ReadAll(conn)
	})
	to := alert.Mail{Server: silent.Addr, From: "a@example.org", To: []string{"b@example.org"}}
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-reached; stop() }()
	if err := open(t, alert.Receiver{Mail: &to}, behind(nil)).Send(ctx, firing()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The time of one message is bounded, whoever asks.
func TestAMessageHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := named{waiting{}, "ops", usualTimeout}
		if err := s.Send(t.Context(), firing()); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

type waiting struct{}

func (waiting) Send(ctx context.Context, _ alert.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestNobodyListens(t *testing.T) {
	to := alert.Mail{Server: "127.0.0.1:1", From: "a@example.org", To: []string{"b@example.org"}}
	err := open(t, alert.Receiver{Mail: &to}, behind(nil)).Send(t.Context(), firing())
	if err == nil || !strings.Contains(err.Error(), "no server listens") || errors.Is(err, alert.ErrRefused) {
		t.Error(err)
	}
}
