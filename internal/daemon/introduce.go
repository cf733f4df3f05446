package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/surface/entrance"
)

// introduce lets the first person in: by a link that works once, where somebody looks at
// the terminal, else by an access token in a file that only the user may read (R2). There
// is no default password, and neither goes to the log. It returns the file, if it wrote one.
func (a *App) introduce(ctx context.Context, e *entrance.Entrance, c EntranceConfig, url string) (written string, err error) {
	if c.Tell != nil && !c.isSocket() {
		c.Tell(url + e.IssueLink())
		return "", nil
	}
	known, err := a.Tokens.hasAdmin(ctx)
	if err != nil || known {
		return "", err
	}
	path := c.tokenFile(a.config.Database)
	if path == "" {
		a.config.Log.Warn("nobody has an access token with the role admin yet", "next", "patra token create NAME --role admin")
		return "", nil
	}
	return path, a.writeFirstToken(ctx, path)
}

// tokenFile is where the first access token goes; empty: nowhere.
func (c EntranceConfig) tokenFile(database string) string {
	if c.TokenFile != "" {
		return c.TokenFile
	}
	if file, ok := strings.CutPrefix(database, "sqlite:"); ok {
		return file + ".token"
	}
	return ""
}

func (a *App) writeFirstToken(ctx context.Context, path string) error {
	name := "first-" + a.identity.ID[:min(len(a.identity.ID), 12)]
	text, made, err := a.Tokens.Create(ctx, TokenWish{Name: name, Role: access.Admin, Lasts: access.UsualLife}, ingest.Act{Actor: "patra serve", Reason: "nobody had an access token with the role admin"})
	if err != nil {
		return err
	}
	if err := WriteTokenFile(path, text.Reveal(), true); err != nil {
		_, _, revoked := a.Tokens.Revoke(ctx, fmt.Sprint(made.ID), ingest.Act{Actor: "patra serve", Reason: "its file could not be written"})
		return errors.Join(fmt.Errorf("first access token: %w; name another file with --token-file", err), revoked)
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	a.config.Log.Info("nobody had an access token with the role admin: the first one is in a file that only this user may read", "file", path, "expires", made.Expires)
	return nil
}

// WriteTokenFile writes an access token to a file that only the user may read. It follows
// no link and writes into no file of somebody else: a new one takes its place whole.
func WriteTokenFile(path, token string, replace bool) (err error) {
	if !replace {
		if err := CheckTokenFile(path); err != nil {
			return err
		}
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".patra-token-*") // 0600 from the start
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.WriteString(token + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// CheckTokenFile refuses a file that is there already: what it holds may still be needed.
func CheckTokenFile(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already: remove it, or name another file", path)
	}
	return nil
}
