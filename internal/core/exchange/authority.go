package exchange

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// CheckAuthority refuses a host with letters beyond ASCII and a port that no machine
// has. Letters such as İ look like another host to whoever compares names, and lead
// to a third one when they are dialled; a host with such a name has an ASCII form
// (xn--…). Of ports a reader of addresses takes any number, and connecting would fail
// much later and say less.
func CheckAuthority(u *url.URL) error {
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return fmt.Errorf("host %q: write it in ASCII letters, as in xn--…", u.Hostname())
	}
	port := u.Port()
	if port == "" {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %.12s: ports are numbers from 1 to 65535", port)
	}
	return nil
}
