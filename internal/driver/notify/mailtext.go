package notify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
)

// composeMail writes headers and body. Every value that is not ours is encoded, so that
// nothing of it can become a header.
func composeMail(to alert.Mail, m alert.Message, now time.Time) []byte {
	var out bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&out, "%s: %s\r\n", name, value) }
	_, domain, _ := strings.Cut(to.From, "@")
	header("From", to.From)
	header("To", strings.Join(to.To, ", "))
	header("Subject", encodeHeader("[patra] "+alert.Title(m)))
	header("Date", now.UTC().Format(time.RFC1123Z))
	header("Message-ID", fmt.Sprintf("<%s@%s>", idOf(m.ID), domain))
	header("References", fmt.Sprintf("<%s@%s>", idOf(threadOf(m)), domain))
	header("Auto-Submitted", "auto-generated") // nobody's absence is answered to us
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	out.WriteString("\r\n")
	body := quotedprintable.NewWriter(&out)
	_, _ = body.Write([]byte(alert.Text(m) + "\n")) // a buffer takes all
	_ = body.Close()
	return out.Bytes()
}

// encodeHeader writes a text so that it stays within its header, folded where it is
// long.
func encodeHeader(text string) string {
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	return strings.ReplaceAll(mime.QEncoding.Encode("utf-8", line), "?= =?", "?=\r\n =?")
}

// idOf makes an id that may stand in a header. The same message has the same one at each
// try, so that a mailbox can tell that it has it.
func idOf(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "" {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// threadOf is the same for all that is told about one matter, so that a mailbox puts the
// message that it is over below the one that it began.
func threadOf(m alert.Message) string {
	source := ""
	if len(m.Alerts) > 0 {
		source = m.Alerts[0].Subject.Source
	}
	return fmt.Sprintf("thread %q %q", m.Rule, source)
}
