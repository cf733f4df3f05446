package upsim

import (
	"fmt"
	"strings"
	"time"
)

// Touch re-indexes a work at the given second. With change its content and its
// version change too; without, only the stamp does, as upstream re-delivers
// records that did not change.
func (d *Dataset) Touch(doi string, at time.Time, change bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	it, ok := d.byDOI(doi)
	if !ok {
		return fmt.Errorf("touch %s: no such work", doi)
	}
	d.cutItem(it)
	it.indexed = at.Unix()
	if change {
		it.rev++
		it.deposited = it.indexed
	}
	d.putItem(it)
	return nil
}

// Add puts a new sound work into the set and gives back its DOI. An empty doi
// lets the set choose one.
func (d *Dataset) Add(doi string, at time.Time) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seq := uint32(len(d.stamps))
	if doi == "" {
		doi = d.doi.encodeDOI(seq)
	} else if _, taken := d.byDOI(doi); taken {
		return "", fmt.Errorf("add %s: there is such a work already", doi)
	} else {
		d.named[seq] = doi
		d.byName[strings.ToLower(doi)] = seq
	}
	d.stamps = append(d.stamps, gone)
	d.putItem(item{indexed: at.Unix(), deposited: at.Unix(), seq: seq})
	return doi, nil
}

// Remove takes a work out. Walks that began before still serve it.
func (d *Dataset) Remove(doi string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	it, ok := d.byDOI(doi)
	if !ok {
		return fmt.Errorf("remove %s: no such work", doi)
	}
	d.cutItem(it)
	return nil
}

// byDOI finds a work whatever the case of its DOI. The caller holds a lock.
func (d *Dataset) byDOI(doi string) (item, bool) {
	if seq, ok := d.byName[strings.ToLower(doi)]; ok {
		return d.findItem(seq)
	}
	seq, ok := d.doi.decodeDOI(doi)
	if !ok {
		return item{}, false
	}
	if _, renamed := d.named[seq]; renamed {
		return item{}, false
	}
	return d.findItem(seq)
}
