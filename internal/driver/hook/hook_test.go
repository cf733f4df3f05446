package hook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

const canary = "canary-4711-secret-of-24-bytes"

// The vector of the specification's own libraries.
func TestSignature(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := Sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTrust04CertificatesAreToldInOurOwnWords(t *testing.T) {
	for want, cause := range map[string]error{
		"for another name": &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{canary}}, Host: canary}},
		"has expired":      x509.CertificateInvalidError{Reason: x509.Expired, Detail: canary},
		"is not valid":     x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign, Detail: canary},
		"none within 1s":   context.DeadlineExceeded,
		"context canceled": context.Canceled,
		"no answer":        errors.New(canary),
	} {
		got := NoAnswer(&url.Error{Op: "Post", URL: "https://hooks.example/" + canary, Err: fmt.Errorf("%s: %w", canary, cause)}, time.Second)
		if strings.Contains(got.Error(), canary) || !strings.Contains(got.Error(), want) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
