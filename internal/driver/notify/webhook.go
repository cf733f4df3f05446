package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/driver/hook"
	"github.com/patra-ingest/patra/internal/driver/tlsfile"
)

// webhook posts messages to an address.
type webhook struct {
	alert.Webhook
	options Options
	client  *http.Client
}

func newWebhook(w alert.Webhook, o Options) (*webhook, error) {
	way := hook.Way{AllowPrivate: w.AllowPrivate}
	if w.CA != "" {
		config, err := tlsfile.Config(link.Security{TLS: link.On, CA: w.CA}, "")
		if err != nil {
			return nil, err
		}
		way.TLS = config
	}
	return &webhook{w, o, hook.FollowNothing(http.Client{Transport: hook.NewTransport(way)})}, nil
}

func (w *webhook) Send(ctx context.Context, m alert.Message) error {
	address, err := w.readAddress(ctx)
	if err != nil {
		return err
	}
	request, err := w.newRequest(ctx, address, m)
	if err != nil {
		return err
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return hook.NoAnswer(err, w.options.Timeout)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err := judgeStatus(answer.StatusCode); err != nil {
		return err
	}
	if err != nil {
		return hook.NoAnswer(err, w.options.Timeout)
	}
	return judgeAnswer(w.Shape(), said)
}

// mostAnswer is more than a receiver has to say.
const mostAnswer = 64 << 10

// readAddress returns where to post to. One that a reference leads to is held to the
// same rules as one in the file.
func (w *webhook) readAddress(ctx context.Context) (string, error) {
	var ref secret.Ref
	address := w.URL
	if ref.UnmarshalText([]byte(w.URL)) == nil {
		text, err := w.options.Reveal(ctx, ref)
		if err != nil {
			return "", fmt.Errorf("url: %w", err)
		}
		address = text.Reveal()
	}
	if err := link.CheckReceiver(address, w.AllowPrivate); err != nil {
		return "", fmt.Errorf("url: %w", err)
	}
	return address, nil
}

func (w *webhook) newRequest(ctx context.Context, address string, m alert.Message) (*http.Request, error) {
	now := w.options.Clock()
	body, err := json.Marshal(bodyOf(w.Shape(), m))
	if err != nil {
		return nil, errors.New("the message cannot be written as JSON")
	}
	var keys [][]byte
	switch shape := w.Shape(); {
	case shape == alert.Standard:
		if keys, err = hook.SigningKeys(ctx, w.options.Reveal, w.Secret...); err == nil && len(keys) == 0 {
			err = errors.New("secret of the signature: there is none")
		}
	case len(w.Secret) > 0:
		address, body, err = w.signForChat(ctx, address, body, now)
	}
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address of the webhook cannot be used")
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("User-Agent", "patra-alert")
	if len(keys) > 0 {
		hook.SetHeaders(request.Header, keys, m.ID, now, body)
	}
	return request, nil
}

// signForChat signs the way that a chat asks for: DingTalk in the address, Feishu in the
// body.
func (w *webhook) signForChat(ctx context.Context, address string, body []byte, now time.Time) (string, []byte, error) {
	key, err := w.options.Reveal(ctx, w.Secret[0])
	if err != nil {
		return "", nil, fmt.Errorf("secret of the signature: %w", err)
	}
	if w.Shape() == alert.Feishu {
		body, err = signFeishu(body, key.Reveal(), now)
		return address, body, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", nil, errors.New("the address of the webhook cannot be used")
	}
	query := u.Query()
	signDingTalk(query, key.Reveal(), now)
	u.RawQuery = query.Encode()
	return u.String(), body, nil
}

// judgeStatus tells what stays wrong from what may pass: a status that is about the
// request comes again with the next one, unless it asks for patience.
func judgeStatus(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
		return fmt.Errorf("%w: status %d", alert.ErrRefused, status)
	}
	return fmt.Errorf("status %d", status)
}
