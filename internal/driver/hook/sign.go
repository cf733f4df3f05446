package hook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// SecretPrefix begins a secret as the specification writes it, in base64. Any
// other text is taken as it is.
const SecretPrefix = "whsec_"

// leastKey is what the specification asks for: a shorter key can be guessed from
// one signature, by trying.
const leastKey = 24

// Reveal reads the value that a reference leads to.
type Reveal func(ctx context.Context, ref secret.Ref) (secret.Text, error)

// SigningKeys returns those that sign: the secret, and others while receivers change
// over from one to the next.
func SigningKeys(ctx context.Context, reveal Reveal, refs ...secret.Ref) (keys [][]byte, err error) {
	for _, ref := range refs {
		key, err := readKey(ctx, reveal, ref)
		if err != nil {
			return nil, fmt.Errorf("secret of the signature: %w", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func readKey(ctx context.Context, reveal Reveal, ref secret.Ref) ([]byte, error) {
	text, err := reveal(ctx, ref)
	if err != nil {
		return nil, err
	}
	encoded, is := strings.CutPrefix(text.Reveal(), SecretPrefix)
	key := []byte(encoded)
	if is {
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, fmt.Errorf("%s begins with %s, but what follows is not base64", ref, SecretPrefix)
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

// SetHeaders writes the headers of the specification, with one signature for each key:
// a receiver takes the one it can check.
func SetHeaders(to http.Header, keys [][]byte, id string, at time.Time, body []byte) {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = Sign(key, id, at, body)
	}
	to.Set("Webhook-Id", id)
	to.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	to.Set("Webhook-Signature", strings.Join(all, " "))
}
