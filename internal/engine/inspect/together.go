package inspect

import "sync"

// mostTogether is how many sources are looked at together: enough to hide that the database
// has to be waited for, and few beside the connections that the work needs.
const mostTogether = 4

// eachTogether calls look for 0 to n-1, some at a time, and returns when all have returned.
func eachTogether(n int, look func(n int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range min(n, mostTogether) {
		all.Go(func() {
			for n := range next {
				look(n)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}
