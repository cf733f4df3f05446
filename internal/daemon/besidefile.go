package daemon

import (
	"os"
	"path/filepath"
	"strings"
)

// besideFile names a folder beside a SQLite file; empty where the database is none. Links to
// the file are followed first, as SQLite does: whatever name it is opened by, its folders are
// the same. A folder of the name that was given, which older programs made, is used on while
// the other is not there.
func besideFile(database, suffix string) string {
	file, ok := strings.CutPrefix(database, "sqlite:")
	if !ok || file == "" {
		return ""
	}
	named, real := file+suffix, followLinks(file)+suffix
	if named != real && !isThere(real) && isThere(named) {
		return named
	}
	return real
}

// mostLinks is how many links are followed: those of a circle lead nowhere.
const mostLinks = 40

// followLinks returns the file that a name leads to, whether it is there or not. Names are
// not tidied: behind a linked folder, ".." is another one.
func followLinks(file string) string {
	for range mostLinks {
		target, err := os.Readlink(file)
		if err != nil {
			return file
		}
		if !filepath.IsAbs(target) {
			folder, _ := filepath.Split(file)
			target = folder + target
		}
		file = target
	}
	return file
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
