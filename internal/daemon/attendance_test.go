package daemon

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// A join and an orderly leave are followed by everybody within two seconds. Who died
// without leaving is counted until its share is void, and a joiner waits that long at
// most (D§5.23).
func TestBelieve12JoinsAndLeavesAreFollowedWithinTwoSeconds(t *testing.T) {
	const soon = 2 * time.Second
	file := filepath.Join(t.TempDir(), "patra.db")
	synctest.Test(t, func(t *testing.T) {
		join := func(name string) (*station, func()) {
			s := openStation(t, file)
			s.app.identity.ID = name
			leave, err := s.app.attendance.joinAsExecutor(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s, leave
		}
		sharedBy := func(when string, all ...*station) {
			t.Helper()
			for _, s := range all {
				if _, n := s.app.gate.Share(); n != len(all) || !s.app.attendance.door.Open() {
					t.Errorf("%s: %s counts %d processes, want %d; it may send: %v", when, s.app.identity.ID, n, len(all), s.app.attendance.door.Open())
				}
			}
		}
		first, leaveFirst := join("1-first")
		second, leaveSecond := join("2-second")
		first.pass(soon)
		sharedBy("after the second joined", first, second)
		third, leaveThird := join("3-third")
		first.pass(soon)
		sharedBy("after the third joined", first, second, third)
		leaveSecond()
		first.pass(soon)
		sharedBy("after the second left", first, third)

		dies := third.app.attendance
		dies.mu.Lock()
		dies.stop() // no sign of life any more, and no word
		dies.mu.Unlock()
		fourth, leaveFourth := join("4-fourth")
		first.pass(soon)
		if fourth.app.attendance.door.Open() {
			t.Error("the fourth sends while the share of a dead process counts")
		}
		first.pass(gate.VoidAfter)
		sharedBy("after the share of the dead process was void", first, fourth)
		for _, leave := range []func(){leaveFirst, leaveThird, leaveFourth} {
			leave()
		}
		for _, s := range []*station{first, second, third, fourth} {
			if err := s.app.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
