package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/driver/hook"
	"github.com/patra-ingest/patra/internal/driver/tlsfile"
)

// mail sends messages by SMTP.
type mail struct {
	alert.Mail
	options Options
	host    string
	tls     *tls.Config // nil: this machine, in the clear
}

func newMail(m alert.Mail, o Options) (*mail, error) {
	host, _, err := net.SplitHostPort(m.Server)
	if err != nil {
		return nil, fmt.Errorf("%w: server: expected host and port", fault.ErrInvalid)
	}
	out := &mail{Mail: m, options: o, host: host}
	if m.Encryption() != alert.NoTLS {
		if out.tls, err = tlsfile.Config(link.Security{TLS: link.On, CA: m.CA}, host); err != nil {
			return nil, err
		}
	} else if !link.IsLocal(host) {
		return nil, fmt.Errorf("%w: tls: off is allowed for a server on this machine only", fault.ErrInvalid)
	}
	return out, nil
}

func (m *mail) Send(ctx context.Context, message alert.Message) error {
	conn, err := m.connect(ctx)
	switch {
	case errors.Is(err, fault.ErrInvalid):
		return errors.New("tls is off, and the name of the server leads to another machine")
	case err != nil:
		return m.explain("connection", err)
	}
	defer conn.Close()
	if until, set := ctx.Deadline(); set {
		_ = conn.SetDeadline(until) // what follows fails if it cannot be set
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // nothing waits for a server any more
	err = m.speak(ctx, conn, message)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("the server took too long: %w", ctx.Err())
	}
	return err
}

// connect reaches the server; without encryption only one of this machine, whatever its
// name leads to.
func (m *mail) connect(ctx context.Context) (net.Conn, error) {
	switch m.Encryption() {
	case alert.NoTLS:
		return tlsfile.DialLocal(ctx, "tcp", m.Server)
	case alert.ImplicitTLS:
		return (&tls.Dialer{Config: m.tls}).DialContext(ctx, "tcp", m.Server)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", m.Server)
}

// speak holds the conversation. Each step that fails ends it.
func (m *mail) speak(ctx context.Context, conn net.Conn, message alert.Message) error {
	client, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return m.explain("greeting", err)
	}
	defer client.Close()
	if err := client.Hello(ownName()); err != nil {
		return m.explain("greeting", err)
	}
	if m.Encryption() == alert.StartTLS {
		if offers, _ := client.Extension("STARTTLS"); !offers {
			return errors.New("the server offers no encryption (STARTTLS), and nothing is sent without")
		}
		if err := client.StartTLS(m.tls); err != nil {
			return m.explain("encryption", err)
		}
	}
	if err := m.logIn(ctx, client); err != nil {
		return err
	}
	refused, err := m.nameAddresses(client)
	if err != nil {
		return err
	}
	if err := m.writeMail(client, message); err != nil {
		return err
	}
	_ = client.Quit() // it has the message
	return refused
}

func (m *mail) logIn(ctx context.Context, client *smtp.Client) error {
	if m.User == "" {
		return nil
	}
	offers, kinds := client.Extension("AUTH")
	if !offers {
		return fmt.Errorf("%w: the server takes no login", alert.ErrRefused)
	}
	password, err := m.options.Reveal(ctx, m.Password)
	if err != nil {
		return fmt.Errorf("password: %w", err)
	}
	how := smtp.PlainAuth("", m.User, password.Reveal(), m.host)
	if words := strings.Fields(strings.ToUpper(kinds)); !slices.Contains(words, "PLAIN") && slices.Contains(words, "LOGIN") {
		how = &login{m.User, password.Reveal()}
	}
	if err := client.Auth(how); err != nil {
		return m.explain("login", err)
	}
	return nil
}

// nameAddresses says from whom and to whom. The mail goes to all that are taken; those
// that are not are told as refused, so that a person who has left does not keep the
// others from being told.
func (m *mail) nameAddresses(client *smtp.Client) (refused, err error) {
	if err := client.Mail(m.From); err != nil {
		return nil, m.explain("sender", err)
	}
	taken := 0
	var passing, lasting error
	for i, to := range m.To {
		err := client.Rcpt(to)
		if err == nil {
			taken++
			continue
		}
		told := m.explain(fmt.Sprintf("address %d of %d", i+1, len(m.To)), err)
		switch {
		case !errors.As(err, new(*textproto.Error)):
			return nil, told
		case errors.Is(told, alert.ErrRefused):
			lasting = told
		default:
			passing = told
		}
	}
	if refused = passing; refused == nil { // one that may pass is tried again, whatever the others are
		refused = lasting
	}
	if taken == 0 {
		return nil, refused
	}
	return refused, nil
}

func (m *mail) writeMail(client *smtp.Client, message alert.Message) error {
	w, err := client.Data()
	if err != nil {
		return m.explain("message", err)
	}
	if _, err := w.Write(composeMail(m.Mail, message, m.options.Clock())); err != nil {
		return m.explain("message", err)
	}
	if err := w.Close(); err != nil {
		return m.explain("message", err)
	}
	return nil
}

// explain says at which step the server did not go on. Its words are not repeated: it
// may say ours again.
func (m *mail) explain(step string, err error) error {
	var said *textproto.Error
	switch {
	case errors.As(err, &said) && said.Code >= 500 && said.Code < 600:
		return fmt.Errorf("%w: the server answered the %s with code %d", alert.ErrRefused, step, said.Code)
	case errors.As(err, &said):
		return fmt.Errorf("the server answered the %s with code %d", step, said.Code)
	}
	return fmt.Errorf("the %s failed: %s", step, hook.WhyNot(err, m.options.Timeout, "what came from the server is no answer of SMTP"))
}

// ownName is what we greet with: servers refuse names that are none.
func ownName() string {
	name, err := os.Hostname()
	if err != nil || name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	}) {
		return "localhost"
	}
	return name
}

// login is the way to log in that some large servers know alone.
type login struct{ user, password string }

// Start begins it, where nobody can listen.
func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS && !link.IsLocal(server.Name) {
		return "", nil, errors.New("no password is sent without encryption")
	}
	return "LOGIN", nil, nil
}

// Next answers what the server asks for.
func (l *login) Next(asks []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	switch question := strings.ToLower(string(asks)); {
	case strings.HasPrefix(question, "user"):
		return []byte(l.user), nil
	case strings.HasPrefix(question, "pass"):
		return []byte(l.password), nil
	}
	return nil, errors.New("the server asks for something else than name and password")
}
