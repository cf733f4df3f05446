package term

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// logFile is a file that lines are added to. It may be opened anew while it is written:
// whoever rotates logs renames the file and then says so.
type logFile struct {
	path    string
	instead io.Writer // gets the lines that the file does not take

	mu     sync.Mutex
	file   *os.File
	failed bool // it did not take the last line
}

func openLogFile(path string, instead io.Writer) (*logFile, error) {
	l := &logFile{path: path, instead: instead}
	return l, l.reopen()
}

// reopen opens the file under its name. If that fails, the one that is open stays.
func (l *logFile) reopen() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // what was written is with the system
	}
	l.file, l.failed = file, false
	return nil
}

// Write adds a line. A line that the file does not take, for instance because the disk is
// full, goes to stderr: nothing is lost in silence.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.file.Write(line)
	if err == nil {
		l.failed = false
		return n, nil
	}
	if !l.failed {
		fmt.Fprintf(l.instead, "patra: the log file cannot be written, so its lines go here until it can: %v\n", err)
	}
	l.failed = true
	return l.instead.Write(line)
}
