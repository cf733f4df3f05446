package daemon

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/driver/secrets"
)

// revealAddresses reads addresses that are given as references: what stands on a command
// line is seen by everybody who lists processes, and an address may hold a
// password (I12).
func (c Config) revealAddresses(ctx context.Context) (Config, error) {
	var err error
	if c.Database, err = addressOf(ctx, "database", c.Database); err != nil {
		return c, err
	}
	c.Gate, err = addressOf(ctx, "shared gate", c.Gate)
	return c, err
}

func addressOf(ctx context.Context, what, text string) (string, error) {
	var ref secret.Ref
	if ref.UnmarshalText([]byte(text)) != nil {
		return text, nil // no reference, so it is the address itself
	}
	address, err := secrets.System{}.Reveal(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("%w: address of the %s: %w", fault.ErrInvalid, what, err)
	}
	return address.Reveal(), nil
}
