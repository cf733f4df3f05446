package term

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxSmallFile is the most that a file may have which people write by hand: a source,
// a declaration of events, an expression. The longest bundled source has a hundredth
// of it.
const maxSmallFile = 1 << 20

// ReadSmallFile reads such a file. It may be a stranger's, or a name that was mistyped:
// no more of it is read than any such file has (D§5.30).
func ReadSmallFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > maxSmallFile {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNotSmall(info.Size())}
	}
	text, err := ReadSmall(file)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New(PathCause(err))}
	}
	return text, nil
}

func ReadSmall(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxSmallFile+1))
	if err == nil && len(text) > maxSmallFile {
		err = errNotSmall(0)
	}
	return text, err
}

// errNotSmall says how large a file is, where that is known.
func errNotSmall(bytes int64) error {
	if bytes > 0 {
		return fmt.Errorf("it has %s, and at most %s are read: is it the right file?", SizeText(bytes), SizeText(maxSmallFile))
	}
	return fmt.Errorf("it has more than %s, and no more are read: is it the right file?", SizeText(maxSmallFile))
}

// PathCause is an error without the path, which stands before it already.
func PathCause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
