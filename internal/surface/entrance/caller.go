package entrance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/access"
)

// visit is one request on its way through the entrance.
type visit struct {
	id       string
	entrance *Entrance
	caller   access.Caller
	address  string // of who asks, behind proxies
	secure   bool   // the browser's connection is encrypted
	bearer   bool   // the caller brought a token, not a cookie
	hash     string // of the token or the session that let the caller in
	why      string // of a refusal
}

type visitKey struct{}

func visitOf(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

// CallerOf tells who asks. Without an entrance it is nobody, who may do nothing.
func CallerOf(ctx context.Context) access.Caller { return visitOf(ctx).caller }

// RequestID names a request in its answer and in the log, so that both can be found by
// each other (R12).
func RequestID(ctx context.Context) string { return visitOf(ctx).id }

// NoteRefusal says why a request is refused, for the audit log. A surface that answers 404
// for what the caller may not know of says so here.
func NoteRefusal(ctx context.Context, why string) { visitOf(ctx).why = why }

// payer is whose account a request is counted on.
func (v *visit) payer() string {
	if v.caller.TokenID != 0 {
		return fmt.Sprintf("token %d", v.caller.TokenID)
	}
	return "address " + v.address
}

// actor is who is meant in the audit log.
func (v *visit) actor() string {
	if v.caller.Role != "" && v.caller.TokenID != 0 {
		return v.caller.Actor()
	}
	return "address:" + v.address
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
