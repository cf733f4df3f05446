package upsim

import (
	"strconv"
	"strings"
)

// doiCode turns the number of a work into its DOI and back, so that no table of
// a million names has to be kept. The number is scrambled by the seed: two data
// sets share no DOIs except by accident.
type doiCode struct {
	key          uint32
	factor, undo uint32
}

// The prefix is the one reserved for tests and examples.
const doiPrefix = "10.5555"

// doiStyle is one way publishers write a DOI; upper case and awkward characters
// included, because real ones have them.
type doiStyle struct {
	before, after string
	upper         bool
}

func doiStyles() [8]doiStyle {
	return [8]doiStyle{
		{before: doiPrefix + "/sim."},
		{before: doiPrefix + "/j.sim.2021."},
		{before: doiPrefix + "/SIM-", upper: true},
		{before: doiPrefix + "/s", after: "-x"},
		{before: doiPrefix + "/Journal.pSim.", upper: true},
		{before: doiPrefix + "/978-0-00-", after: "_7"},
		{before: doiPrefix + "/(SICI)0000-0000(19990101)12:3<", after: "::AID-SIM>3.0.CO;2-U", upper: true},
		{before: doiPrefix + "/sim/a/b/", after: "/full"},
	}
}

func newDOICode(seed uint64) doiCode {
	chance := newStream(seed, 'n')
	c := doiCode{key: uint32(chance.nextNumber()), factor: uint32(chance.nextNumber()) | 1}
	// Newton's step for the inverse modulo 2^32: each round doubles the bits.
	c.undo = c.factor
	for range 5 {
		c.undo *= 2 - c.factor*c.undo
	}
	return c
}

func (c doiCode) encodeDOI(seq uint32) string {
	style := doiStyles()[seq%8]
	digits := strconv.FormatUint(uint64(seq*c.factor^c.key), 16)
	digits = "00000000"[len(digits):] + digits
	if style.upper {
		digits = strings.ToUpper(digits)
	}
	return style.before + digits + style.after
}

func (c doiCode) decodeDOI(doi string) (uint32, bool) {
	for _, style := range doiStyles() {
		if len(doi) != len(style.before)+8+len(style.after) {
			continue
		}
		digits := doi[len(style.before) : len(style.before)+8]
		n, err := strconv.ParseUint(digits, 16, 32)
		if err != nil {
			continue
		}
		seq := (uint32(n) ^ c.key) * c.undo
		if strings.EqualFold(c.encodeDOI(seq), doi) {
			return seq, true
		}
	}
	return 0, false
}
