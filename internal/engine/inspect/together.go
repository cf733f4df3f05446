package inspect

import "sync"

// eachTogether calls look for 0 to n-1, as many at a time as the store says is worth it, and
// returns when all have returned.
func (i *Inspector) eachTogether(n int, look func(n int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range min(n, max(i.from.Together, 1)) {
		all.Go(func() {
			for n := range next {
				look(n)
			}
		})
	}
	for at := range n {
		next <- at
	}
	close(next)
	all.Wait()
}
