package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// barePage and bareWork are what a program written for Crossref alone would
// decode: the page's frame, and of each work its id, date and a dozen fields.
type barePage struct {
	Status  string `json:"status"`
	Message struct {
		Total int               `json:"total-results"`
		Next  string            `json:"next-cursor"`
		Items []json.RawMessage `json:"items"`
	} `json:"message"`
}

type bareWork struct {
	DOI     string `json:"DOI"`
	Indexed struct {
		At time.Time `json:"date-time"`
	} `json:"indexed"`
	Type      string   `json:"type"`
	Title     []string `json:"title"`
	Container []string `json:"container-title"`
	Publisher string   `json:"publisher"`
	Volume    string   `json:"volume"`
	Issue     string   `json:"issue"`
	Authors   []struct {
		Given  string `json:"given"`
		Family string `json:"family"`
	} `json:"author"`
	Issued struct {
		Parts [][]*int `json:"date-parts"`
	} `json:"issued"`
	Language string `json:"language"`
	Abstract string `json:"abstract"`
	URL      string `json:"URL"`
	Cited    int    `json:"is-referenced-by-count"`
}

// bareHarvest is fetch, decode, insert and nothing else: no ledger, no hash, no
// retry, no rate limit. It reads as many days at once as the program does.
func bareHarvest(ctx context.Context, u upstream, into *plain) (int, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: fetchers}}
	defer client.CloseIdleConnections()
	days := make(chan time.Time, len(u.days))
	for _, day := range u.days {
		days <- day
	}
	close(days)
	var stored atomic.Int64
	failed := make(chan error, fetchers)
	for range fetchers {
		go func() {
			for day := range days {
				n, err := bareDay(ctx, client, u.url, day, into)
				stored.Add(int64(n))
				if err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	var first error
	for range fetchers {
		if err := <-failed; err != nil && first == nil {
			first = err
		}
	}
	return int(stored.Load()), first
}

func bareDay(ctx context.Context, client *http.Client, base string, day time.Time, into *plain) (stored int, err error) {
	cursor := "*"
	for {
		page, err := bareFetch(ctx, client, base, day, cursor)
		if err != nil {
			return stored, err
		}
		rows := make([]plainRow, len(page.Message.Items))
		for i, raw := range page.Message.Items {
			var work bareWork
			if err := json.Unmarshal(raw, &work); err != nil {
				return stored, err
			}
			rows[i] = plainRow{work.DOI, raw}
		}
		if err := into.insert(ctx, rows); err != nil {
			return stored, err
		}
		if stored += len(rows); stored >= page.Message.Total {
			return stored, nil
		}
		cursor = page.Message.Next
	}
}

func bareFetch(ctx context.Context, client *http.Client, base string, day time.Time, cursor string) (page barePage, err error) {
	text := day.Format(time.DateOnly)
	query := url.Values{
		"rows": {fmt.Sprint(pageSize)}, "cursor": {cursor}, "sort": {"indexed"}, "order": {"asc"},
		"filter": {"from-index-date:" + text + ",until-index-date:" + text},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/works?"+query.Encode(), nil)
	if err != nil {
		return page, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return page, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return page, fmt.Errorf("status %d", answer.StatusCode)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return page, err
	}
	return page, json.Unmarshal(body, &page)
}
