//go:build !unix

package daemon

import (
	"context"
	"fmt"
	"net"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// listenPrivately needs modes of files.
func listenPrivately(context.Context, string) (net.Listener, error) {
	return nil, fmt.Errorf("%w: unix sockets are private only where files have modes: listen on 127.0.0.1", fault.ErrInvalid)
}
