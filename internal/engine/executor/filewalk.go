package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/engine/worklog"
	"github.com/patra-ingest/patra/internal/pause"
)

// FileFolder keeps copies of files on this machine while they are read.
type FileFolder interface {
	// Take takes the copy of a file in hand, or what is there of it. Close must be called.
	Take(key string) (FileCopy, error)
}

// FileCopy is a copy of a file.
type FileCopy interface {
	exchange.Spool
	CopyState
	// Finish says that all bytes came.
	Finish() (files.Copy, error)
	// Open unpacks a whole copy as a stream.
	Open(how files.Config, format document.Format) (FileStream, error)
	Drop() error
	Close() error
}

// CopyState is what is there of a file.
type CopyState interface {
	Whole() (files.Copy, files.Validator, bool)
	Have() (int64, files.Validator)
}

// FileStream is an unpacked file. A file that is cut or damaged ends with an error.
type FileStream interface {
	io.ReadCloser
	// Parts returns how many packed files stood one behind the other.
	Parts() int
}

// fileWalk reads a file in parts that are documents by themselves: each is a batch, and the
// checkpoint of a batch says where in the unpacked file the next part begins.
type fileWalk struct {
	*taskRun
	owed   files.Owed
	from   files.Position
	sum    string // of the copy that was read up to there
	begun  begun
	copy   FileCopy
	stream FileStream
	split  *files.Splitter
	ahead  <-chan filePart // the next part, which is being read; nil: it is not begun
	end    *ingest.FileEnd

	gone      int    // stored records that it said are gone, up to there
	sumBeside string // the checksum that stands in a file beside it; empty: not asked for
}

// resumeFile goes on behind the last part that was committed.
func (f *fileWalk) resumeFile(last ingest.Checkpoint) error {
	f.pass = newPass(filePaging, feed{}, max(last.Pass, 1))
	if last.Pass == 0 {
		return nil
	}
	f.pass.resumeAt(last)
	_, err := fmt.Sscanf(last.Paging.Token, "%s %d %d", &f.sum, &f.from.Offset, &f.from.Items)
	_, _ = fmt.Sscanf(last.Paging.Token, "%s %d %d %d", &f.sum, &f.from.Offset, &f.from.Items, &f.gone) // none, if none of it was gone
	f.begun = begun{f.from.Offset, f.sum}
	if last.Done {
		f.end = f.endOf(f.from)
	}
	if err != nil {
		return fault.New(fault.Internal, fmt.Errorf("checkpoint %q of a file: %w", last.Paging.Token, err))
	}
	return nil
}

// begun is where an earlier run stopped, and in which copy.
type begun struct {
	offset int64
	sum    string
}

// cameFurther reports whether this run went on in the copy that was begun and came further. One
// that is read from its beginning again does not, however much of it is read.
func (f *fileWalk) cameFurther() bool {
	return (f.begun.sum == "" || f.begun.sum == f.sum) && f.from.Offset > f.begun.offset
}

// endOf returns the end of the file, if it is read up to a position.
func (f *fileWalk) endOf(at files.Position) *ingest.FileEnd {
	return &ingest.FileEnd{Name: f.owed.Name, Version: f.owed.Version, Items: at.Items, Bytes: at.Offset}
}

// next reads the next part of the file and commits it.
func (f *fileWalk) next(ctx context.Context) (done bool, err error) {
	if f.split == nil {
		if done, err := f.openFile(ctx); done || err != nil {
			return done, err
		}
	}
	part := f.takePart()
	if part.err != nil {
		return false, f.damaged(part.err)
	}
	if !part.chunk.Last {
		f.readAhead()
	}
	return f.keepPart(ctx, part)
}

// damaged returns why the file cannot be read on. Its copy is of no use any more: another one
// may be whole.
func (f *fileWalk) damaged(err error) error {
	if fault.As(err).Code != fault.BadBody {
		return err
	}
	f.closeStream()
	if failed := f.copy.Drop(); failed != nil {
		f.line().Warn("a copy of a file is not removed", "file", f.owed.Name, "error", failed)
	}
	if strings.Contains(err.Error(), "file "+f.owed.Name) {
		return err
	}
	return fault.New(fault.As(err).Code, fmt.Errorf("file %s: %w", f.owed.Name, err))
}

// readPart reads a part as an answer of the FILE endpoint would be.
func (f *fileWalk) readPart(chunk files.Chunk, at time.Time) (*extract.Page, error) {
	if chunk.Items == 0 {
		return &extract.Page{}, nil
	}
	asked := extract.Asked{FetchAt: at, MappingID: f.work.MappingID}
	page, err := f.program.Detail.Page(&exchange.Response{Body: chunk.Body}, asked)
	if err != nil {
		return nil, err
	}
	return page, f.checkNoneIsLeft(chunk, page)
}

// checkNoneIsLeft refuses a part of which the items path selects less than there is: a kind of item that
// the source file does not name would be missing, and nobody would notice (I4).
func (f *fileWalk) checkNoneIsLeft(chunk files.Chunk, page *extract.Page) error {
	if page.Says.Items >= chunk.Items {
		return nil
	}
	return fault.Newf(fault.SchemaChange, "file %s: response.items selects %d of %d items before byte %d, so others would be missing: name all of them there, and leave out with response.where what is no record",
		f.owed.Name, page.Says.Items, chunk.Items, chunk.After.Offset)
}

// knownAt returns as of when the content of the file was known: its own date, where that is
// known. So a file that is read late does not take the place of what is newer (D§5.13).
func (f *fileWalk) knownAt() time.Time {
	if at := f.owed.Stamp; !at.IsZero() && at.Before(f.lastSeen) {
		return at
	}
	return f.lastSeen
}

// keepPart commits a part. The last one ends the file only if all of it is shown to be there.
func (f *fileWalk) keepPart(ctx context.Context, part filePart) (done bool, err error) {
	chunk, page, next := part.chunk, part.page, f.pass
	gone, err := f.checkGone(ctx, page.Records)
	if err != nil {
		return false, err
	}
	next.state.Token = fmt.Sprintf("%s %d %d", f.sum, chunk.After.Offset, chunk.After.Items)
	if gone > 0 {
		next.state.Token += fmt.Sprintf(" %d", gone)
	}
	next.state.Pages++
	next.state.Seen, next.at = int(chunk.After.Items), f.lastSeen
	next.read += page.Seen
	next.rejected += len(page.Rejects)
	b := bundle{
		answer: &answer{page: page, body: chunk.Body, kept: f.executor.keeper.prepareKeeping(ctx, chunk.Body, ""), detail: true},
		before: f.pass.state, after: next.state, records: page.Records, rejects: page.Rejects, newest: page.Newest, why: "a part of a file",
	}
	b.seen, b.duplicate, b.outside, b.excluded, b.strays = page.Seen, page.Duplicate, page.Outside, page.Excluded, page.Kept
	f.noteRejects(b.rejects)
	var incomplete error
	if chunk.Last {
		b.why = "the last part of a file"
		incomplete = f.judgeEnd(chunk, next)
	}
	if incomplete != nil && chunk.Items == 0 { // nothing to keep: an earlier run read up to here
		return false, f.damaged(incomplete)
	}
	if b.origin, err = json.Marshal(map[string]any{"context": blackbox.Context{At: part.at, Detail: true, Why: b.why, File: &blackbox.FilePart{
		Name: f.owed.Name, SHA256: f.sum, From: f.from.Offset, To: chunk.After.Offset, Items: chunk.After.Items,
	}}}); err != nil {
		return false, err
	}
	b.checkpoint = next.toCheckpoint()
	b.checkpoint.Done = chunk.Last && incomplete == nil
	stop, err := f.commitBundle(ctx, b)
	if err != nil {
		return false, err
	}
	f.pass, f.from, f.gone = next, chunk.After, gone
	switch {
	case incomplete != nil:
		return false, f.damaged(incomplete)
	case chunk.Last:
		f.end = f.endOf(chunk.After)
		_, f.end.Validator, _ = f.copy.Whole()
		return true, nil
	}
	return false, stop
}

// judgeEnd decides whether a file that was read to its end was wholly read.
func (f *fileWalk) judgeEnd(chunk files.Chunk, next listPass) error {
	end := files.End{Items: chunk.After.Items, Parts: f.stream.Parts()}
	if err := f.announced().CheckEnd(end, f.program.Detail.Response.Format, f.program.Files.Packed); err != nil {
		return err
	}
	if tooMany := tooManyRejects(next.rejected, next.read, f.program.Detail.Response.MaxRejectRate, f.rejectedFor); tooMany != nil {
		return tooMany
	}
	return nil
}

// openFile has the file on the disk and stands behind what was read of it. done says that the
// server has no other content than what was read before.
func (f *fileWalk) openFile(ctx context.Context) (done bool, err error) {
	if f.executor.config.Files == nil {
		return false, fault.Newf(fault.Refused, "files cannot be read: no folder is known that they could be copied to; name one with --files-dir or PATRA_FILES_DIR")
	}
	if f.copy == nil {
		if f.copy, err = f.executor.config.Files.Take(fmt.Sprintf("%d-%s", f.work.Lease.TaskID, f.owed.Key())); err != nil {
			return false, err
		}
	}
	whole, _, there := f.copy.Whole()
	if !there {
		var unchanged bool
		if whole, unchanged, err = f.fetchFile(ctx); err != nil {
			if f.looksAhead() && ctx.Err() == nil && fault.As(err).Code.Breaks() {
				f.lookElsewhere(ctx) // if the listing is answered, the file is to blame and not the upstream
			}
			return false, err
		}
		f.alive = true // what is wrong with the file is its own
		if unchanged {
			f.end = &ingest.FileEnd{Name: f.owed.Name, Version: f.owed.Version, Unchanged: true}
			return true, nil
		}
	}
	if err := f.fetchSum(ctx); err != nil {
		return false, err
	}
	if err := f.announced().CheckCopy(whole); err != nil {
		return false, f.damaged(err)
	}
	if f.sum != whole.SHA256 {
		if f.sum != "" {
			f.line().Warn("the file is another one than before and is read from its beginning", "file", f.owed.Name)
		}
		f.sum, f.from, f.gone = whole.SHA256, files.Position{}, 0
	}
	if f.stream, err = f.copy.Open(f.program.Files, f.program.Detail.Response.Format); err != nil {
		return false, f.damaged(err)
	}
	c := f.program.Detail.Response
	csv := document.CSV{Delimiter: c.Delimiter, Comment: c.Comment, NoHeader: c.NoHeader, NoFinalNewline: c.NoFinalNewline}
	if f.split, err = files.NewSplitter(f.stream, c.Format, csv, files.Limits{}); err == nil {
		err = f.split.SkipTo(f.from)
	}
	if err != nil {
		return false, f.damaged(err)
	}
	return false, nil
}

// leastSilence is how long a server of files may be silent.
const leastSilence = time.Minute

// fetchFile copies the file, and goes on with a part that is there if the server still has the
// same. A connection that breaks costs no more than what was on the way.
func (f *fileWalk) fetchFile(ctx context.Context) (whole files.Copy, unchanged bool, err error) {
	p := f.program.Detail
	for try := 1; ; try++ {
		before, _ := f.copy.Have()
		unchanged, err = f.fetchOnce(ctx)
		if err == nil {
			if unchanged {
				return whole, true, f.copy.Drop()
			}
			whole, err = f.copy.Finish()
			return whole, false, err
		}
		if ctx.Err() != nil {
			return whole, false, context.Cause(ctx)
		}
		var known *fault.Error
		if !errors.As(err, &known) || known.Level != fault.Transient || errors.Is(err, fault.ErrStale) {
			return whole, false, err
		}
		if after, _ := f.copy.Have(); after > before {
			try = 1 // it comes, if slowly
		}
		if try >= p.Retry.MaxAttempts || known.Wait > p.Retry.RetryAfterCap.Std() {
			return whole, false, err
		}
		if err := pause.For(ctx, max(known.Wait, p.Retry.Backoff(try, rand.Float64()))); err != nil {
			return whole, false, err
		}
	}
}

// fetchOnce asks for the file, or for the rest of it.
func (f *fileWalk) fetchOnce(ctx context.Context) (unchanged bool, err error) {
	p := f.program.Detail
	request, err := p.AskFile(f.owed.Address, f.lastSeen)
	if err != nil {
		return false, renderFault(err)
	}
	f.askedNo = f.batchNo + 1
	request.Correlate(worklog.CorrelationID(f.run.ID, f.askedNo))
	request.Replayable, request.Spool = true, f.copy
	request.Timeout, request.ReadTimeout, request.MaxBodyBytes = 0, max(request.Timeout, leastSilence), f.program.Files.MaxBytes
	have, of := f.copy.Have()
	if same, ok := of.IfSame(); ok && have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		request.Header.Set("If-Range", same)
	} else if name, value := f.owed.Validator.IfChanged(); name != "" && f.owed.Version == "" && f.from == (files.Position{}) {
		request.Header.Set(name, value)
	}
	limits := f.limitsOf(p)
	f.asking = limits.Key(f.work.Partition.Source)
	retry := p.Retry
	retry.MaxAttempts = 1
	call := &transport.Call{
		Request: request, Key: f.asking, Limits: limits, Retry: retry, Priority: f.program.Priority(), Task: f.work.Lease.TaskID,
		Held: f.checkLease, Failed: f.noteTry, Measured: f.measureAttempt, Spending: f.allowed.asSpending(), Choice: &f.choice,
		Weigh: func(response *exchange.Response, weighed *fault.Error) *fault.Error {
			if response.Status == 416 { // nothing is behind what we have: begin anew
				weighed = fault.New(fault.Network, errors.Join(errors.New("the server has no more than the part that was copied already"), f.copy.Drop()))
			}
			return explainRefusal(request, response, weighed)
		},
	}
	response, err := f.executor.chain.Do(ctx, call)
	f.countCall(call)
	if err != nil {
		return false, err
	}
	f.line().Info("file copied", "file", f.owed.Name, "status", response.Status, "bytes", response.WireBytes)
	return response.Status == 304, nil
}

// requestElsewhere returns a request for the listing, if there is one.
func (f *fileWalk) requestElsewhere() (*exchange.Request, error) {
	if f.program.Files.Listing == "" {
		return nil, errors.New("a file is no list of which another page could be asked for")
	}
	question, err := f.program.Ask(f.asked, f.lastSeen)
	if err != nil {
		return nil, err
	}
	return question.Page(f.program.Paging.First())
}

// startsOver reports false: a file that is another one now is read by the next run.
func (f *fileWalk) startsOver(*fault.Error) bool { return false }

func (f *fileWalk) explainEnd(_ context.Context, cause error) error { return cause }

func (f *fileWalk) endsEarly(fault.Code) (ingest.TaskStatus, ingest.RunStatus, bool) {
	return "", "", false
}

func (f *fileWalk) closeStream() {
	f.dropAhead()
	if f.stream != nil {
		_ = f.stream.Close() // it was only read
	}
	f.stream, f.split = nil, nil
}

// endOfFile returns what became of the file, where its run ends the slice.
func (r *taskRun) endOfFile(o ingest.Outcome) *ingest.FileEnd {
	if r.file == nil || o.Task != ingest.TaskSucceeded {
		return nil
	}
	return r.file.end
}

// dropFile removes the copy of a file whose slice is over. One that failed may be tried again,
// by whoever plans it anew, with a copy of its own.
func (r *taskRun) dropFile(o ingest.Outcome) {
	if r.file == nil || r.file.copy == nil || !o.Task.Terminal() {
		return
	}
	r.file.closeStream()
	if err := r.file.copy.Drop(); err != nil {
		r.line().Warn("a copy of a file is not removed", "file", r.file.owed.Name, "error", err)
	}
}

// closeFile lets go of the copy of the file.
func (r *taskRun) closeFile() {
	if r.file == nil || r.file.copy == nil {
		return
	}
	r.file.closeStream()
	if err := r.file.copy.Close(); err != nil {
		r.line().Warn("a copy of a file is not let go of", "file", r.file.owed.Name, "error", err)
	}
}
