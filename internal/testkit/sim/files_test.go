package sim

import (
	"database/sql"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/driver/filecopy"
	"github.com/patra-ingest/patra/internal/engine/executor"
	"github.com/patra-ingest/patra/internal/engine/operate"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// openFiles opens works that lie in files, which are made anew while they are read.
func (w *world) openFiles(random *rand.Rand) {
	all := simulated.Files()
	f := all[random.IntN(len(all))]
	w.add(f.Name, []byte(f.YAML("http://"+f.Name+".sim")), upsim.Options{}, random)
}

// copies is the disk that all processes of a world share, each with its own locks.
type copies struct {
	*line
	*filecopy.Folder
}

func (w *world) copiesOf(l *line) executor.FileFolder {
	return copies{l, filecopy.New(w.kept.folder)}
}

// Take takes a copy in hand, if the process still lives.
func (c copies) Take(key string) (executor.FileCopy, error) {
	if err := c.wait(); err != nil {
		return nil, err
	}
	found, err := c.Folder.Take(key)
	if err != nil {
		return nil, err
	}
	return copied{found}, nil
}

type copied struct{ *filecopy.Copy }

func (c copied) Open(how files.Config, format document.Format) (executor.FileStream, error) {
	s, err := c.Copy.Open(how, format)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// isFiles reports whether the works of a form lie in files.
func isFiles(name string) bool {
	return slices.ContainsFunc(simulated.Files(), func(f simulated.Form) bool { return f.Name == name })
}

// forgottenAfterItFailed is a file that cannot be had when it is listed, and is not listed any
// more when it can.
func forgottenAfterItFailed(s *stage) {
	name := s.up.server.FileNames()[3]
	s.up.server.SetLies(upsim.Lies{LostFile: name})
	pass(s.ctx, 3*time.Minute)
	s.up.server.SetLies(upsim.Lies{LostFile: name, ForgottenFile: name})
	pass(s.ctx, 5*time.Minute)
	s.up.server.SetLies(upsim.Lies{ForgottenFile: name})
	s.resumeAll(operate.New(s.store))
}

// mixedWhileItIsRead breaks every other connection in the middle of a file, and sends the rest out
// of another one.
func mixedWhileItIsRead(s *stage) {
	s.up.server.SetLies(upsim.Lies{MixedFiles: true})
	s.weather("reset@every:2")
	pass(s.ctx, 5*time.Minute)
	s.weather("")
	s.up.server.SetLies(upsim.Lies{})
	s.resumeAll(operate.New(s.store))
}

// someFileFailed: the trouble reached the harvest, and a file that is not whole was not fetched
// over and over.
func someFileFailed(s *stage, db *sql.DB) {
	s.Helper()
	var failed, read int
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_task_run WHERE status_code = 'FAILED'").Scan(&failed))
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_file WHERE read_version = version").Scan(&read))
	if failed == 0 || failed > 60 || read < 8 {
		s.Errorf("%d runs failed, %d files are read", failed, read)
	}
}
