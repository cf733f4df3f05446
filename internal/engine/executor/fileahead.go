package executor

import (
	"runtime/debug"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
)

// filePart is a part of a file that is read and not committed.
type filePart struct {
	chunk files.Chunk
	page  *extract.Page
	at    time.Time // as of when its records are known
	err   error
	stack []byte // where it panicked
}

// takePart returns the next part of the file: the one that was read while the part before it was
// committed, or else it is read now.
func (f *fileWalk) takePart() filePart {
	if f.ahead == nil {
		f.readAhead()
	}
	part := <-f.ahead
	f.ahead = nil
	if part.stack != nil {
		f.line().Error("panic", "panic", part.err, "stack", string(part.stack))
	}
	return part
}

// readAhead reads the next part while this one is committed: unpacking and reading take a
// processor, and a commit waits for the disk. One part is read ahead, so no more is held than that.
// Nothing but the splitter is touched until it is taken.
func (f *fileWalk) readAhead() {
	ahead, at := make(chan filePart, 1), f.knownAt()
	f.ahead = ahead
	go func() { ahead <- f.cutPart(at) }()
}

// cutPart cuts the next part from the file and reads it. What a source file makes of items must
// not end the process.
func (f *fileWalk) cutPart(at time.Time) (p filePart) {
	defer func() {
		if cause := recover(); cause != nil {
			p.err, p.stack = fault.Newf(fault.Internal, "panic: %v", cause), debug.Stack()
		}
	}()
	p.at = at
	if p.chunk, p.err = f.split.Next(); p.err == nil {
		p.page, p.err = f.readPart(p.chunk, at)
	}
	return p
}

// dropAhead waits for a part that is being read, and forgets it.
func (f *fileWalk) dropAhead() {
	if f.ahead != nil {
		<-f.ahead
	}
	f.ahead = nil
}
