// Package sim lets ten processes harvest several simulated upstreams for an hour
// of virtual time while everything goes wrong that may: answers are lost, broken,
// late and refused, processes die, freeze and come back, commits happen and are
// reported as failed, operators pause and cancel, the data changes while it is
// read. Three relays publish the events meanwhile; they die between publishing and
// marking, stand still until their lease is another's, and their receiver takes
// events and says that it did not. Planner, dispatcher, executor, relay, transport chain, rate gate, HTTP client and
// the store are the real ones, in a SQLite file and, with fewer seeds, on a MariaDB
// server; a synctest bubble holds the clock, and pipes stand for sockets to the upstreams. When the faults stop, the harvest must come to rest with
// every item of the upstreams, and I1 to I9 must hold.
//
// A seed decides the data, the sources, the faults and when they strike. A failure
// names it, and PATRA_SIM_SEEDS=7 (or 7-20) plays it again. It does not decide in
// which order goroutines run that are ready at the same instant, nor the jitter of
// retries; a failure that hides is found with -count. PATRA_SIM_DIR names a folder
// that keeps the databases of seeds that failed, PATRA_SIM_LOG=1 tells everything.
//
// One source of every world takes less than a window: a feed that comes newest first, or a
// list with a lower bound alone. Another one is a list without dates that is read whole: a
// reading that counts as complete must have had whatever was in the list from its beginning
// to its end, and nothing is gone that is there. A third one has its works in files that are
// made anew while they are listed and read. A fourth one has its works on racks that are records
// themselves: they come with a past, change, are closed and come back, and some are refused or
// broken for a while. Every other world asks for those alone that changed.
//
// Scenarios play one trouble of one upstream at full length, such as half an hour
// of 5xx, and nothing else: they also hold the upstream's own log of requests
// against the declared rate (I11), and tell how many failed answers were made good
// and when full speed was reached again.
//
// Some upstreams also answer well and wrongly, by the seed: all the time, as a filter
// that is off its stamps or stamps that are rounded up, or for some minutes, as items
// beyond the asked page, items under another name, records of other ids, records that
// are lacking, lists that shrink while they are read. Each such lie has a scenario of
// its own, and a proof that it is found where what makes up for it is taken out.
//
// It must never simulate what no harvester could notice: an empty page that claims
// to be all there is, in a shape that says so, a total that lies, an item that appears
// further back than the declared lookback, be it by a filter that is behind the stamps.
// Under random faults it does not check that rates are kept.
package sim
