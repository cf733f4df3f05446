// Package refresh says which stored records an UPDATE checks again, and when:
// the policies, the turn each record has in a cycle, the signals that name
// records, and how many of them may have vanished before nobody believes it, and when a
// tombstone is looked at
// (§4.14, §6.3).
//
// It never reads a record and never asks an upstream. What is chosen is always a
// rule with bounds and an instant, never a list of ids.
package refresh
