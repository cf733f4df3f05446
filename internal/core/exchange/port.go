package exchange

import (
	"fmt"
	"net/url"
	"strconv"
)

// CheckPort refuses an address with a port that no machine has: a reader of
// addresses takes any number, and connecting would fail much later and say less.
func CheckPort(u *url.URL) error {
	port := u.Port()
	if port == "" {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %.12s: ports are numbers from 1 to 65535", port)
	}
	return nil
}
