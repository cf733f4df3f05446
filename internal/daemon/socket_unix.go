//go:build unix

package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
)

// listenPrivately opens a unix socket that only the user may use, from the start: it is
// made in a folder of its own that others cannot enter, and moved when its mode is set.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	folder, err := os.MkdirTemp(filepath.Dir(path), ".patra-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	hidden := filepath.Join(folder, "s")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", hidden)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(hidden, 0o600), os.Rename(hidden, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &ownSocket{l, path}, nil
}

// ownSocket removes its name when it is closed.
type ownSocket struct {
	net.Listener
	path string
}

// Close ends the listening.
func (s *ownSocket) Close() error {
	err := s.Listener.Close()
	if err == nil {
		_ = os.Remove(s.path)
	}
	return err
}
