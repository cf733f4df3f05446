package term

import (
	"io"
	"os"
	"sync"
)

// sharedWriter lets several goroutines write lines to one writer.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *sharedWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(line)
}

// Share returns a writer that hints, progress and the log may write to at the same time.
// The system does so for files; other writers get a lock. A file stays itself, because
// whether it is a terminal matters.
func Share(to io.Writer) io.Writer {
	if _, ok := to.(*os.File); ok {
		return to
	}
	return &sharedWriter{to: to}
}
