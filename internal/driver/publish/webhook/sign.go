package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// secretPrefix begins a secret as the specification writes it, in base64. Any
// other text is taken as it is.
const secretPrefix = "whsec_"

// leastKey is what the specification asks for: a shorter key can be guessed from
// one signature, by trying.
const leastKey = 24

// signingKeys returns those that sign: the secret, and the one before it while
// receivers change over.
func (p *Publisher) signingKeys(ctx context.Context) (keys [][]byte, err error) {
	for _, ref := range []secret.Ref{p.options.Secret, p.options.OldSecret} {
		if ref.IsZero() && ref == p.options.OldSecret {
			continue
		}
		key, err := p.readKey(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("secret of the signature: %w", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (p *Publisher) readKey(ctx context.Context, ref secret.Ref) ([]byte, error) {
	text, err := p.options.Reveal(ctx, ref)
	if err != nil {
		return nil, err
	}
	encoded, is := strings.CutPrefix(text.Reveal(), secretPrefix)
	key := []byte(encoded)
	if is {
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, fmt.Errorf("%s begins with %s, but what follows is not base64", ref, secretPrefix)
		}
	}
	if len(key) < leastKey {
		return nil, fmt.Errorf("%s leads to %d bytes, and fewer than %d can be guessed: make one with `openssl rand -base64 32` and give it to the receiver, too", ref, len(key), leastKey)
	}
	return key, nil
}

// Sign returns the signature of a body: what the receiver computes too.
func Sign(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signAll is one signature for each key: a receiver takes the one it can check.
func signAll(keys [][]byte, id string, at time.Time, body []byte) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = Sign(key, id, at, body)
	}
	return strings.Join(all, " ")
}
