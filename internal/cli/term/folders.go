package term

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/daemon"
)

// RawDirFlag adds --raw-dir, for commands that keep or read bodies of answers.
func RawDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "raw-dir", "", "folder of bodies of answers (default PATRA_RAW_DIR, else FILE.raw beside the SQLite file)")
}

func RawDir(flag string) string {
	if flag != "" {
		return flag
	}
	return EnvOr("PATRA_RAW_DIR", "")
}

// FilesDirFlag adds --files-dir, for commands that read records from files.
func FilesDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "files-dir", "", "folder that files of records are copied to while they are read (default PATRA_FILES_DIR, else FILE.files beside the SQLite file or the user's cache folder)")
}

// FilesDir returns that folder; empty: the usual one.
func FilesDir(flag string) string {
	if flag != "" {
		return flag
	}
	return EnvOr("PATRA_FILES_DIR", "")
}

const RawDays = daemon.RawKeepFor / (24 * time.Hour)

// ArchiveDirFlag adds --archive-dir, for commands that write or read archives.
func ArchiveDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "archive-dir", "", "folder of archives (default PATRA_ARCHIVE_DIR, else FILE.archive beside the SQLite file)")
}

func ArchiveDir(flag string) string {
	if flag != "" {
		return flag
	}
	return EnvOr("PATRA_ARCHIVE_DIR", "")
}
