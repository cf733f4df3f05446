package registry

import "github.com/patra-ingest/patra/internal/core/paging"

// checkNext refuses another request after the first page where nothing stands for the question:
// a request that counts items or pages would ask for those of another list (I2).
func (r *Resolved) checkNext() Problems {
	if r.Request.Next.IsZero() || r.Paging.Type == paging.Token {
		return nil
	}
	return Problems{r.problemAt(Path{"request", "next"}, "E-NEXT-REQUEST: another request after the first page needs paging.type: TOKEN",
		"only a token that the upstream gave can stand for the window that the first request named")}
}
