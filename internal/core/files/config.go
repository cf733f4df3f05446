package files

import (
	"fmt"
	"regexp"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/generation"
)

// Config is the `files` section of an endpoint with role FILE. The zero Config is no such
// endpoint.
type Config struct {
	Listing   string            `json:"listing,omitempty" doc:"endpoint with role LISTING that names the files; its response.fields say what is known of each: address (needed), size, lines, md5, sha256; response.id is the name of a file, response.updatedAt its date"`
	Addresses []string          `json:"addresses,omitempty" doc:"addresses of the files below http.baseUrl, where no listing names them"`
	Every     duration.Duration `json:"every,omitzero" doc:"how long a reading of the listing counts; a scheduled harvest looks for new and changed files after it"`
	MinShare  float64           `json:"minShare,omitzero" zero:"ok" doc:"share of the files of the last complete listing, 0 to 1, that must be listed again; fewer make the listing SHRUNK: it does not count (default 0.5)"`
	Take      Take              `json:"take,omitempty" enum:"ALL,NEWEST" doc:"ALL: every file ever listed must be read. NEWEST: each file holds everything, so the one with the newest date is enough (default ALL)"`
	Packed    Packing           `json:"packed,omitempty" enum:"NONE,GZIP,ZIP,ZSTD,TAR,TAR_GZIP" doc:"how the files are packed (default NONE); a ZIP holds one file, or one whose name ends with entry. TAR and TAR_GZIP are archives of many small files, each of them one item of JSON or XML"`
	Entry     string            `json:"entry,omitempty" doc:"ZIP: how the name of the file inside ends, such as .json, where there are several. TAR: how the names of those files end that are items; others are passed over"`
	SumSuffix string            `json:"sumSuffix,omitempty" doc:"if a file beside each file holds its checksum: the suffix that this file adds to the address, such as .md5. patra fetches it with the file and does not read a file that does not match"`
	MaxGone   float64           `json:"maxGone,omitzero" zero:"ok" doc:"share of the stored records, 0 to 1, that one file may report as gone (response.goneIds, response.gone); if there are more, the file fails before any is taken for gone. The first ten are always believed (default 0.1)"`
	Age       duration.Duration `json:"age,omitzero" doc:"how much older than its date the content of a file may be; a list that is loaded from files first (window.bootstrap) continues that much earlier (default P1D)"`
	MaxBytes  int64             `json:"maxBytes,omitzero" doc:"most bytes of a file once it is unpacked (default 1099511627776)"`
}

// Take says which files have to be read.
type Take string

// The two kinds of file sets.
const (
	TakeAll    Take = "ALL"
	TakeNewest Take = "NEWEST"
)

// Packing is how a file is packed.
type Packing string

// The ways of packing.
const (
	Plain Packing = "NONE"
	Gzip  Packing = "GZIP"
	Zip   Packing = "ZIP"
	Zstd  Packing = "ZSTD"
	// Archives of many files, each of which is one item.
	Tar     Packing = "TAR"
	TarGzip Packing = "TAR_GZIP"
)

// ShowsItsEnd reports that a file of this packing that is cut anywhere cannot be unpacked. One of
// Zstd may be several frames, and a cut between two of them is not noticed.
func (p Packing) ShowsItsEnd() bool { return p == Gzip || p == Zip || p.Archive() }

// Archive reports that the file holds many others, each of which is one item.
func (p Packing) Archive() bool { return p == Tar || p == TarGzip }

// DefaultMaxBytes is how large a file may become when it is unpacked.
const DefaultMaxBytes = 1 << 40

// DefaultMaxGone is the share of the stored records that one file may say are gone.
const DefaultMaxGone = 0.1

// MostFiles is how many files one listing may name: each is a slice of its plan.
const MostFiles = 20_000

// On reports whether the endpoint has files.
func (c Config) On() bool { return c.Listing != "" || len(c.Addresses) > 0 }

// WithDefaults fills what is not set. A Config that says nothing stays zero.
func (c Config) WithDefaults() Config {
	if !c.On() {
		return c
	}
	if c.MinShare == 0 {
		c.MinShare = generation.DefaultMinShare
	}
	if c.MaxGone == 0 {
		c.MaxGone = DefaultMaxGone
	}
	if c.Take == "" {
		c.Take = TakeAll
	}
	if c.Packed == "" {
		c.Packed = Plain
	}
	if c.Age == 0 {
		c.Age = duration.Day
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	return c
}

// Whole returns by what a reading of the listing is judged: as one of a list without dates.
// Nothing is taken for gone because a file is not listed any more.
func (c Config) Whole() generation.Config {
	if !c.On() {
		return generation.Config{}
	}
	return generation.Config{Every: c.Every, MinShare: c.MinShare, Confirm: 1}
}

var plainSuffix = regexp.MustCompile(`^[A-Za-z0-9._-]{1,40}$`)

// shortest is how long a listing counts at least.
const shortest = 15 * time.Minute

// Validate refuses what can mean nothing. Shares are compared so that NaN is refused too.
func (c Config) Validate() error {
	switch {
	case !c.On():
		return nil
	case c.Listing != "" && len(c.Addresses) > 0:
		return fmt.Errorf("addresses: E-FILES: files.listing names the files, and so do files.addresses: write one of them")
	case c.Every <= 0:
		return fmt.Errorf("every: E-REQUIRED: says how long a reading of the listing counts, such as P1D")
	case c.Every.Std() < shortest:
		return fmt.Errorf("every %s: E-FILES: is less than %s, and files are not looked for more often", c.Every, duration.Duration(shortest))
	case !(c.MinShare >= 0 && c.MinShare <= 1):
		return fmt.Errorf("minShare %v: E-SHARE: must be between 0 and 1", c.MinShare)
	case !(c.MaxGone >= 0 && c.MaxGone <= 1):
		return fmt.Errorf("maxGone %v: E-SHARE: must be between 0 and 1", c.MaxGone)
	case c.MaxBytes < 0:
		return fmt.Errorf("maxBytes %d: E-NEGATIVE: cannot be negative", c.MaxBytes)
	case len(c.Addresses) > MostFiles:
		return fmt.Errorf("addresses: E-FILES: %d addresses are more than the %d files that one set may have", len(c.Addresses), MostFiles)
	case c.SumSuffix != "" && !plainSuffix.MatchString(c.SumSuffix):
		return fmt.Errorf("sumSuffix %q: E-FILES: is what is added to an address, such as .md5: letters, digits, dots, dashes and underscores", c.SumSuffix)
	case c.Entry != "" && c.Packed != Zip && !c.Packed.Archive():
		return fmt.Errorf("entry: E-FILES: is for files.packed ZIP, TAR and TAR_GZIP only")
	case c.Take == TakeNewest && len(c.Addresses) > 0:
		return fmt.Errorf("take: E-FILES: NEWEST compares dates, and addresses have none: use a listing")
	}
	return nil
}
