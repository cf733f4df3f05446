package upsim

import (
	"net/url"
	"time"
)

// appendWork writes one work. All that is not in the item is drawn from the
// seed and its number, always in the same order, so that the same item gives
// the same bytes.
func (d *Dataset) appendWork(dst []byte, it item, bad string) []byte {
	chance := newStream(d.cfg.Seed, 'w', uint64(it.seq))
	// Upstream escapes all of Unicode. One work in four is left as raw UTF-8,
	// which is just as legal, to keep readers honest.
	w := workText{chance: &chance, ascii: it.seq%4 != 3}
	doi := d.doiOf(it.seq)
	references := chance.numberBelow(80)

	dst = append(dst, `{"indexed":`...)
	dst = appendInstant(dst, it.indexed, brokenStamp(it.seq, bad))
	// The padding below must not depend on how long the stamp is written, or
	// re-indexing a work on the tenth of a month would change its content.
	start := len(dst) - stampBytes
	dst = appendInt(append(dst, `,"reference-count":`...), references)
	dst = w.appendText(append(dst, `,"publisher":`...), pickOne(&chance, publisherNames()))
	dst = append(dst, `,"content-domain":{"domain":[],"crossmark-restriction":false}`...)
	if bad != MissingID {
		dst = w.appendText(append(dst, `,"DOI":`...), doi)
	}
	dst = w.appendText(append(dst, `,"type":`...), pickOne(&chance, workTypes()))
	dst = appendInstant(append(dst, `,"created":`...), d.drawCreated(&chance), nil)
	dst = append(dst, `,"source":"Simulation","is-referenced-by-count":`...)
	dst = appendInt(dst, chance.numberBelow(300)+int(it.rev))
	dst = w.appendTitle(dst, it.rev)
	dst = append(dst, `,"prefix":"`+doiPrefix+`","author":`...)
	dst = w.appendAuthors(dst)
	dst = appendInt(append(dst, `,"member":"`...), 100+chance.numberBelow(900))
	dst = w.appendContainer(append(dst, `","container-title":`...))
	dst = append(dst, `,"language":"en","deposited":`...)
	dst = appendInstant(dst, it.deposited, nil)
	dst = append(dst, `,"score":1.0,"resource":{"primary":{"URL":"https:\/\/works.example\/`...)
	dst = appendInt(dst, int(it.seq))
	dst = append(dst, `"}},"issued":{"date-parts":[[`...)
	dst = w.appendIssued(dst, it.deposited)
	dst = appendInt(append(dst, `]]},"references-count":`...), references)
	dst = append(dst, `,"URL":"https:\/\/doi.org\/`...)
	dst = appendEscaped(dst, (&url.URL{Path: doi}).EscapedPath(), true)
	dst = append(dst, '"')
	return d.appendAbstract(dst, start, &chance)
}

func brokenStamp(seq uint32, bad string) *string {
	if bad != BadDate {
		return nil
	}
	stamps := badStamps()
	return &stamps[int(seq)%len(stamps)]
}

// drawCreated lies in the twenty years before the data set begins: most of what
// upstream re-indexes is old.
func (d *Dataset) drawCreated(chance *stream) int64 {
	return d.cfg.From.Unix() - int64(chance.numberBelow(20*365*secondsPerDay))
}

const (
	stampBytes    = 100 // roughly, of the indexed stamp
	abstractOpen  = `,"abstract":"<jats:p>`
	abstractClose = `<\/jats:p>"`
)

// appendAbstract closes the work. It pads up to the wished size; without one,
// half of the works have a short abstract and half have none.
func (d *Dataset) appendAbstract(dst []byte, start int, chance *stream) []byte {
	need := d.cfg.PayloadBytes - (len(dst) - start) - len(abstractOpen) - len(abstractClose) - 1
	if d.cfg.PayloadBytes == 0 && chance.numberBelow(2) == 0 {
		need = 100 + chance.numberBelow(300)
	}
	if need > 0 {
		dst = append(dst, abstractOpen...)
		for at := chance.numberBelow(fillerSize); need > 0; at = 0 {
			piece := d.filler[at:min(fillerSize, at+need)]
			dst = append(dst, piece...)
			need -= len(piece)
		}
		dst = append(dst, abstractClose...)
	}
	return append(dst, '}')
}

// workText draws the readable parts of one work.
type workText struct {
	chance *stream
	ascii  bool
}

func (w workText) appendText(dst []byte, s string) []byte { return appendString(dst, s, w.ascii) }

// appendTitle shows the version of the content, so that a changed work differs.
func (w workText) appendTitle(dst []byte, rev uint32) []byte {
	dst = append(dst, `,"title":["`...)
	dst = appendEscaped(dst, pickOne(w.chance, topicWords()), w.ascii)
	dst = append(dst, ": "...)
	dst = appendEscaped(dst, pickOne(w.chance, qualifierWords()), w.ascii)
	if rev > 0 {
		dst = appendInt(append(dst, ", version "...), int(rev)+1)
	}
	return append(dst, `"]`...)
}

func (w workText) appendAuthors(dst []byte) []byte {
	dst = append(dst, '[')
	sequence := "first"
	for i := range w.chance.numberBelow(4) {
		if i > 0 {
			dst = append(dst, ',')
			sequence = "additional"
		}
		dst = w.appendText(append(dst, `{"given":`...), pickOne(w.chance, givenNames()))
		dst = w.appendText(append(dst, `,"family":`...), pickOne(w.chance, familyNames()))
		dst = w.appendText(append(dst, `,"sequence":`...), sequence)
		dst = append(dst, `,"affiliation":[]}`...)
	}
	return append(dst, ']')
}

func (w workText) appendContainer(dst []byte) []byte {
	if w.chance.numberBelow(12) == 0 {
		return append(dst, `[]`...)
	}
	dst = w.appendText(append(dst, '['), pickOne(w.chance, containerNames()))
	return append(dst, ']')
}

// appendIssued returns what the publisher says: one to three parts, or nothing
// known.
func (w workText) appendIssued(dst []byte, deposited int64) []byte {
	if w.chance.numberBelow(16) == 0 {
		return append(dst, `null`...)
	}
	before := int64(w.chance.numberBelow(3*365)) * secondsPerDay
	return appendDateParts(dst, time.Unix(deposited-before, 0).UTC(), 1+w.chance.numberBelow(3))
}
