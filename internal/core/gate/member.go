package gate

import (
	"cmp"
	"slices"
	"time"
)

// Member is a process that sends requests, as all processes of a store see it.
type Member struct {
	ID       string
	Executes bool  // it works on tasks; otherwise it only counts for its plans
	No       int64 // rises with every join; never given twice
	Seen     int64 // it has made room for everybody up to this number
}

// How processes without a shared gate know of each other. Whoever could not show
// itself for HoldFor sends nothing more, by its own clock. The others count it
// until VoidAfter, by the store's clock: what lies between is for clocks that
// run apart or are set.
const (
	BeatEvery = time.Second
	HoldFor   = 4 * time.Second
	VoidAfter = 6 * time.Second
)

// Stake is what one process may take of limits that all of them share.
type Stake struct {
	Rank, N int
	// Takes: everybody who lives has made room. Before that nothing may leave.
	Takes bool
}

// StakeOf is the stake of one of the members. Where the store takes one executor,
// the others wait for their turn and have none.
//
// Everybody who takes knows of everybody who takes: a process takes only when all
// others have made room for it, and who leaves is missed by nobody. So each
// counts at least those who really take, its share is at most the one it would
// have among those, and all shares together are at most the whole (I11).
func StakeOf(me string, members []Member, single bool) Stake {
	all := senders(members, single)
	at := slices.IndexFunc(all, func(m Member) bool { return m.ID == me })
	if at < 0 {
		return Stake{Rank: nobody, N: nobody + 1}
	}
	takes := !slices.ContainsFunc(members, func(m Member) bool { return m.ID != me && m.Seen < all[at].No })
	return Stake{Rank: at, N: len(all), Takes: takes}
}

// nobody is the rank of who has no stake: too many come before it for any limit.
const nobody = 1 << 30

// senders are the members in the order of their ranks. Executors come first,
// because a limit of one request at a time goes to the first.
func senders(members []Member, single bool) (out []Member) {
	all := slices.SortedFunc(slices.Values(members), func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range all {
		if m.Executes && !(single && len(out) > 0) {
			out = append(out, m)
		}
	}
	for _, m := range all {
		if !m.Executes {
			out = append(out, m)
		}
	}
	return out
}

// Senders is how many processes share the limits.
func Senders(members []Member, single bool) int { return len(senders(members, single)) }

// LastJoined is the number of who joined last: what a process has made room for
// once it holds to its stake among these members.
func LastJoined(members []Member) (no int64) {
	for _, m := range members {
		no = max(no, m.No)
	}
	return no
}
