package wiretap

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// Mailbox is a server of mail that keeps what comes.
type Mailbox struct {
	Addr string
	CA   string // file with the certificate of its authority

	config   *tls.Config
	implicit bool
	auth     string // kinds of login it offers
	plain    bool   // it offers no encryption

	mu      sync.Mutex
	answers map[string]string // instead of the usual one, by the words a line begins with
	mails   []Mail
	clear   strings.Builder // lines that came without encryption
	arrived chan struct{}
}

// Mail is one that came.
type Mail struct {
	From      string
	To        []string
	Login     string // "user password", as given
	Encrypted bool
	Text      string // headers and body, as written
}

// MailOption changes what a server of mail does.
type MailOption func(*Mailbox)

// Implicit lets it be encrypted from the first byte.
func Implicit(m *Mailbox) { m.implicit = true }

// InTheClear lets it offer no encryption.
func InTheClear(m *Mailbox) { m.plain = true }

// Logins are the kinds of login it offers.
func Logins(kinds string) MailOption { return func(m *Mailbox) { m.auth = kinds } }

// NewMailbox starts a server that ends with the test. Its certificate is for 127.0.0.1.
func NewMailbox(t testing.TB, options ...MailOption) *Mailbox {
	t.Helper()
	authority := NewAuthority(t)
	cert, err := tls.LoadX509KeyPair(authority.Issue("mail", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	m := &Mailbox{CA: authority.File, auth: "PLAIN LOGIN", config: &tls.Config{Certificates: []tls.Certificate{cert}}, answers: map[string]string{}, arrived: make(chan struct{}, 1000)}
	for _, o := range options {
		o(m)
	}
	m.Addr = Listen(t, "127.0.0.1", m.speak).Addr
	return m
}

// Answer lets lines that begin so be answered with this instead.
func (m *Mailbox) Answer(line, with string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[line] = with
}

// Mails returns those that came.
func (m *Mailbox) Mails() []Mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Mail{}, m.mails...)
}

// Arrived gets one value for each mail that came.
func (m *Mailbox) Arrived() <-chan struct{} { return m.arrived }

// InClear returns what came without encryption.
func (m *Mailbox) InClear() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clear.String()
}

// talk is one conversation.
type talk struct {
	box       *Mailbox
	conn      net.Conn
	in        *bufio.Reader
	encrypted bool
	mail      Mail
}

func (m *Mailbox) speak(conn net.Conn) {
	t := &talk{box: m, conn: conn, in: bufio.NewReader(conn)}
	if m.implicit {
		t.encrypt()
	}
	if !t.say(m.instead("(greeting)", "220 mail.test ready")) {
		return
	}
	for {
		line, err := t.line()
		if err != nil || !t.answer(line) {
			return
		}
	}
}

func (t *talk) encrypt() {
	secure := tls.Server(t.conn, t.box.config)
	t.conn, t.in, t.encrypted = secure, bufio.NewReader(secure), true
}

func (t *talk) say(text string) bool {
	_, err := fmt.Fprintf(t.conn, "%s\r\n", text)
	return err == nil
}

func (t *talk) line() (string, error) {
	line, err := t.in.ReadString('\n')
	if !t.encrypted {
		t.box.mu.Lock()
		t.box.clear.WriteString(line)
		t.box.mu.Unlock()
	}
	return strings.TrimRight(line, "\r\n"), err
}

func (m *Mailbox) instead(line, usual string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for begins, with := range m.answers {
		if strings.HasPrefix(line, begins) {
			return with
		}
	}
	return usual
}

// answer goes on with the conversation and reports whether there is more.
func (t *talk) answer(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	usual := "250 ok"
	switch strings.ToUpper(word) {
	case "EHLO", "HELO":
		usual = t.extensions()
	case "STARTTLS":
		if !t.say(t.box.instead(line, "220 go ahead")) {
			return false
		}
		t.encrypt()
		return true
	case "AUTH":
		return t.logIn(line, rest)
	case "MAIL":
		t.mail.From = between(rest)
	case "RCPT":
		if usual = t.box.instead(line, usual); strings.HasPrefix(usual, "2") {
			t.mail.To = append(t.mail.To, between(rest))
		}
	case "DATA":
		return t.readMail(line)
	case "QUIT":
		t.say("221 bye")
		return false
	}
	return t.say(t.box.instead(line, usual))
}

func (t *talk) extensions() string {
	out := []string{"mail.test"}
	if !t.encrypted && !t.box.plain {
		out = append(out, "STARTTLS")
	} else if t.box.auth != "" {
		out = append(out, "AUTH "+t.box.auth)
	}
	out = append(out, "8BITMIME")
	for i := range out {
		sep := "-"
		if i == len(out)-1 {
			sep = " "
		}
		out[i] = "250" + sep + out[i]
	}
	return strings.Join(out, "\r\n")
}

func (t *talk) logIn(line, rest string) bool {
	kind, first, _ := strings.Cut(rest, " ")
	var given []string
	if kind == "PLAIN" {
		text, _ := base64.StdEncoding.DecodeString(first)
		given = strings.Split(string(text), "\x00")[1:]
	} else {
		for _, asks := range []string{"Username:", "Password:"} {
			if !t.say("334 " + base64.StdEncoding.EncodeToString([]byte(asks))) {
				return false
			}
			said, err := t.line()
			if err != nil {
				return false
			}
			text, _ := base64.StdEncoding.DecodeString(said)
			given = append(given, string(text))
		}
	}
	t.mail.Login = strings.Join(given, " ")
	return t.say(t.box.instead(line, "235 welcome"))
}

func (t *talk) readMail(line string) bool {
	if other := t.box.instead(line, ""); other != "" {
		return t.say(other)
	}
	if !t.say("354 go ahead") {
		return false
	}
	var text strings.Builder
	for {
		line, err := t.line()
		if err != nil {
			return false
		}
		if line == "." {
			break
		}
		text.WriteString(strings.TrimPrefix(line, ".") + "\n")
	}
	t.mail.Text, t.mail.Encrypted = text.String(), t.encrypted
	if other := t.box.instead("(text)", ""); other != "" {
		return t.say(other)
	}
	t.box.mu.Lock()
	t.box.mails = append(t.box.mails, t.mail)
	t.box.mu.Unlock()
	t.mail = Mail{Login: t.mail.Login}
	t.box.arrived <- struct{}{}
	return t.say("250 taken")
}

// between returns an address without its brackets.
func between(text string) string {
	_, text, _ = strings.Cut(text, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}
