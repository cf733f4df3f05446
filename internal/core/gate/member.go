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

// StakeOf returns the stake of one of the members. A process takes only after all
// others have made room for it, and one that leaves takes nothing any more. So
// each process counts at least all those that really take, its share is at most
// the one it would have among those, and all shares together are at most the
// whole (I11).
func StakeOf(me string, members []Member) Stake {
	all := byRank(members)
	at := slices.IndexFunc(all, func(m Member) bool { return m.ID == me })
	if at < 0 {
		return Stake{Rank: nobody, N: nobody + 1}
	}
	takes := !slices.ContainsFunc(members, func(m Member) bool { return m.ID != me && m.Seen < all[at].No })
	return Stake{Rank: at, N: len(all), Takes: takes}
}

// nobody is the rank of who is not there: too many come before it for any limit.
const nobody = 1 << 30

// byRank orders members by their ranks. Executors come first, because a limit of
// one request at a time goes to the first. Among them who joined earlier comes
// first: a process that joins takes nothing from one that has work under way.
func byRank(members []Member) []Member {
	return slices.SortedFunc(slices.Values(members), func(a, b Member) int {
		if a.Executes != b.Executes {
			if a.Executes {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.No, b.No)
	})
}

// Leads reports whether a process is the executor that joined first. Where the
// store takes one executor, that is it.
func Leads(me string, members []Member) bool {
	all := byRank(members)
	return len(all) > 0 && all[0].Executes && all[0].ID == me
}

// LastJoined returns the number of who joined last: what a process has made room
// for once it holds to its stake among these members.
func LastJoined(members []Member) (no int64) {
	for _, m := range members {
		no = max(no, m.No)
	}
	return no
}
