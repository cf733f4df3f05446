package wording

import "fmt"

// QuotaWayOut is what ends the wait for a quota of our own before its time.
func QuotaWayOut(key string) string {
	return fmt.Sprintf("a higher quota in the source file, or `patra rate release %s --reason WHY`", key)
}
