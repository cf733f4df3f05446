package files

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// LongestSum is how many bytes a file of checksums may have.
const LongestSum = 1 << 20

var (
	sumFirst  = regexp.MustCompile(`^([0-9a-fA-F]{32}|[0-9a-fA-F]{64})(?:[ \t]+\*?(\S.*))?$`)
	nameFirst = regexp.MustCompile(`^(?i:MD5|SHA-?256|SHA2-256)[ \t]*\((.+)\)[ \t]*=[ \t]*([0-9a-fA-F]{32}|[0-9a-fA-F]{64})$`)
)

// SumAddress returns where the checksum of a file stands, in a file beside it.
func (l Listed) SumAddress(suffix string) string {
	address, query, has := strings.Cut(l.Address, "?")
	if has {
		return address + suffix + "?" + query
	}
	return address + suffix
}

// FindSum finds the checksum of the file in the text of a file beside it: `MD5(name)= digits`, `digits  name`, or the
// digits alone. A text that names other files only, or says two things, is an error: a file that nothing
// vouches for is not taken for whole.
func (l Listed) FindSum(text string) (string, error) {
	own, found := path.Base(strings.SplitN(l.Address, "?", 2)[0]), ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		name, digits := "", ""
		if parts := sumFirst.FindStringSubmatch(line); parts != nil {
			digits, name = parts[1], parts[2]
		} else if parts := nameFirst.FindStringSubmatch(line); parts != nil {
			name, digits = parts[1], parts[2]
		}
		if digits == "" || name != "" && path.Base(strings.TrimSpace(name)) != own {
			continue
		}
		sum := "md5:" + strings.ToLower(digits)
		if len(digits) == 64 {
			sum = "sha256:" + strings.ToLower(digits)
		}
		if found != "" && found != sum {
			return "", fmt.Errorf("the file of checksums beside %s has two different checksums for it", own)
		}
		found = sum
	}
	if found == "" {
		return "", fmt.Errorf("the file of checksums beside %s has no checksum for it (files.sumSuffix): it begins with %.60q", own, text)
	}
	return found, nil
}
