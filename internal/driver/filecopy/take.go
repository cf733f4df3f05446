package filecopy

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"syscall"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/driver/disk"
	"github.com/patra-ingest/patra/internal/driver/durable"
)

var contentRange = regexp.MustCompile(`^bytes (\d+)-(\d+)/(\d+|\*)$`)

// Begin makes room for what comes: a whole file takes the place of what is there, a part goes
// on behind it if it is a part of the same.
func (c *Copy) Begin(status int, header exchange.Header, length int64) error {
	came := files.NewValidator(header.Get("ETag"), header.Get("Last-Modified"))
	start := int64(0)
	if status == 206 {
		parts := contentRange.FindStringSubmatch(header.Get("Content-Range"))
		if parts == nil {
			return fault.Newf(fault.BadBody, "the answer is a part of a file and does not say which (Content-Range)")
		}
		start, _ = strconv.ParseInt(parts[1], 10, 64) // what is too large is refused below
		if start > c.have || start == 0 && parts[1] != "0" || came != "" && came != c.note.Validator {
			return errors.Join(c.Drop(), fault.Newf(fault.Network, "the answer is a part of another file than the one that was begun; it is fetched anew"))
		}
	}
	if err := c.checkRoom(length); err != nil {
		return err
	}
	if err := c.closeOut(); err != nil {
		return err
	}
	out, err := os.OpenFile(c.path(".part"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	c.out, c.have = out, start
	if err := out.Truncate(start); err != nil {
		return err
	}
	if _, err := out.Seek(start, io.SeekStart); err != nil {
		return err
	}
	if status != 206 {
		c.note = note{Validator: came}
		return c.writeNote()
	}
	return nil
}

// spare is the share of a disk that is left free: tests and databases stop below it.
const spare = 20

// checkRoom refuses a file for which the disk has no room.
func (c *Copy) checkRoom(length int64) error {
	room, err := disk.At(c.folder.dir)
	if err != nil || length < 0 {
		return nil // not known; writing tells
	}
	if free := room.Free - min(room.Free, room.Total/spare); uint64(length) > free {
		return fmt.Errorf("%w: the file has %d bytes, and in %s there is room for %d", fault.ErrFull, length, c.folder.dir, free)
	}
	return nil
}

// Write takes the next bytes.
func (c *Copy) Write(part []byte) (int, error) {
	n, err := c.out.Write(part)
	c.have += int64(n)
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w: no room for the file in %s", fault.ErrFull, c.folder.dir)
	}
	return n, err
}

// Finish says that all bytes came, and returns what the copy is.
func (c *Copy) Finish() (files.Copy, error) {
	if c.out == nil {
		return files.Copy{}, errors.New("no file was begun")
	}
	if err := c.out.Sync(); err != nil {
		return files.Copy{}, err
	}
	if _, err := c.out.Seek(0, io.SeekStart); err != nil {
		return files.Copy{}, err
	}
	old, sum := md5.New(), sha256.New()
	n, err := io.Copy(io.MultiWriter(old, sum), c.out)
	if err = errors.Join(err, c.closeOut()); err != nil {
		return files.Copy{}, err
	}
	c.note.Whole, c.note.Copy = true, files.Copy{Size: n, MD5: hex.EncodeToString(old.Sum(nil)), SHA256: hex.EncodeToString(sum.Sum(nil))}
	if err := c.writeNote(); err != nil {
		return files.Copy{}, err
	}
	return c.note.Copy, durable.SyncFolder(c.folder.dir)
}
