package alert

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Storm is how many messages of one kind a rule may send at one look. Where there would
// be more, they are one message: a thousand calls at night are as good as none.
const Storm = 20

// Decision is what follows from one look.
type Decision struct {
	Keep     []Kept      // alerts that are new or have changed
	Forget   []Kept      // pending ones that are gone: nothing was told of them
	Messages []Addressed // to be sent
}

// Addressed is a message and the receiver that gets it.
type Addressed struct {
	Receiver string
	Message  Message
}

// Decide decides what a look means: which alerts begin, go on and end, and what is told
// to whom. A look that failed must not come here: it decides nothing.
//
// An alert is told when its finding has been there at every look for as long as its rule
// says, so what comes and goes within that time calls no one. It is told again when its
// severity rises, and after the repeat interval. It ends when its finding was absent for
// long enough; a source whose status could not be computed hides its findings and ends
// none. Who was told of an alert is told its end, once, also under a silence: what waits
// for the end would otherwise wait for ever.
func (c Config) Decide(now time.Time, found []view.Finding, known []Kept, silences []Silence) Decision {
	d := &decider{config: c, now: now, silences: silences, seen: map[string]sighting{}, hidden: map[string]bool{}}
	d.noteFindings(found)
	for _, rule := range c.RulesInForce() {
		d.decideRule(rule, slices.DeleteFunc(slices.Clone(known), func(k Kept) bool { return k.Rule != rule.Name }))
	}
	d.closeOrphans(known)
	return d.out
}

// sighting is an alert that was found by a look.
type sighting struct {
	alert Alert
	heals bool
	more  int // findings of the same kind about the same thing
}

type decider struct {
	config   Config
	now      time.Time
	silences []Silence
	seen     map[string]sighting
	order    []string        // of keys, as they were found
	hidden   map[string]bool // sources whose findings are not known
	out      Decision
}

// noteFindings makes alerts of findings. Several with one code and subject are one alert.
func (d *decider) noteFindings(found []view.Finding) {
	for _, f := range found {
		if hidesOthers(f.Code) {
			d.hidden[f.Subject.Source] = true
		}
		a := NewAlert(f, d.now)
		key := a.Key()
		one, known := d.seen[key]
		if !known {
			d.order = append(d.order, key)
			d.seen[key] = sighting{alert: a, heals: f.Heals}
			continue
		}
		more := one.more + 1
		if rank(a.Severity) > rank(one.alert.Severity) || one.heals && !f.Heals {
			one = sighting{alert: a, heals: f.Heals}
		}
		one.more = more
		d.seen[key] = one
	}
	for key, one := range d.seen {
		if one.more > 0 {
			one.alert.Text += fmt.Sprintf(" (and %d more of this kind)", one.more)
			d.seen[key] = one
		}
	}
}

// NewAlert returns a finding as it is told to people who are not at a terminal.
func NewAlert(f view.Finding, now time.Time) Alert {
	since := f.Since
	if since.IsZero() || since.After(now) {
		since = now
	}
	return Alert{
		Code: f.Code, Severity: f.Severity, Subject: f.Subject, About: wording.FindingAbout(f), Text: wording.FindingText(f, now), Next: f.Next, Since: since,
	}
}

// hidesOthers reports that while a source has such a finding its others are not known.
func hidesOthers(code view.FindingCode) bool {
	return code == view.FoundUncomputable || code == view.FoundUnreadable || code == view.FoundUnplannable
}

func (d *decider) decideRule(rule Rule, known []Kept) {
	messages := &outgoing{rule: rule}
	for i, k := range known {
		if !k.State.Live() || !rule.selects(k.Alert) {
			continue
		}
		if one, here := d.seen[k.Alert.Key()]; here {
			known[i] = d.goOn(rule, k, one, messages)
		} else {
			known[i] = d.missing(k, messages)
		}
	}
	for _, key := range d.order {
		one := d.seen[key]
		live := slices.ContainsFunc(known, func(k Kept) bool { return k.State.Live() && k.Alert.Key() == key })
		if !live && rule.selects(one.alert) && rule.calls(one.alert, one.heals) {
			known = append(known, d.begin(rule, one, messages))
		}
	}
	d.repeat(rule, known, messages)
	d.out.Messages = append(d.out.Messages, messages.seal(d.config, d.now)...)
	for _, k := range known {
		switch {
		case k.State == Pending && !k.AbsentAt.IsZero():
			d.out.Forget = append(d.out.Forget, k)
		case k.State.Live() && rule.selects(k.Alert), k.EndedAt.Equal(d.now):
			d.out.Keep = append(d.out.Keep, k)
		}
	}
}

// begin notes an alert that was not there before.
func (d *decider) begin(rule Rule, one sighting, messages *outgoing) Kept {
	k := Kept{Rule: rule.Name, State: Pending, Alert: one.alert, SeenAt: d.now}
	return d.tellIfDue(rule, k, messages)
}

// goOn notes an alert that is still there.
func (d *decider) goOn(rule Rule, k Kept, one sighting, messages *outgoing) Kept {
	since := k.Alert.Since
	k.Alert, k.AbsentAt = one.alert, time.Time{}
	k.Alert.Since = since
	if k.State == Pending {
		if !rule.calls(one.alert, one.heals) { // it heals now, or matters less
			k.AbsentAt = d.now
			return k
		}
		return d.tellIfDue(rule, k, messages)
	}
	if rank(k.Alert.Severity) > rank(k.ToldSeverity) && !isSilenced(k.Alert, d.silences, d.now) {
		return d.tell(rule, k, messages)
	}
	return k
}

func (d *decider) tellIfDue(rule Rule, k Kept, messages *outgoing) Kept {
	if d.now.Sub(k.SeenAt) < lengthOf(rule.For, UsualFor) || isSilenced(k.Alert, d.silences, d.now) {
		return k
	}
	return d.tell(rule, k, messages)
}

// tell puts an alert into a message that something is wrong.
func (d *decider) tell(rule Rule, k Kept, messages *outgoing) Kept {
	k = d.told(k)
	messages.add(Firing, rule.groupOf(k.Alert), k.Alert)
	return k
}

func (d *decider) told(k Kept) Kept {
	k.State, k.ToldAt, k.ToldSeverity, k.Times = Open, d.now, k.Alert.Severity, k.Times+1
	return k
}

// missing notes an alert that was not found. One that was told ends when it was absent for
// long enough; one that was not is forgotten.
func (d *decider) missing(k Kept, messages *outgoing) Kept {
	if d.hidden[k.Alert.Subject.Source] && k.Alert.Subject.Source != "" && !hidesOthers(k.Alert.Code) {
		return k
	}
	if k.AbsentAt.IsZero() {
		k.AbsentAt = d.now
	}
	if k.State == Pending || d.now.Sub(k.AbsentAt) < d.config.ResolveAfterTime() {
		return k
	}
	k.State, k.EndedAt, k.Alert.ResolvedAt = Ended, d.now, k.AbsentAt
	messages.resolved = append(messages.resolved, k.Alert)
	return k
}

// repeat tells again what lasts. All open alerts of a message are repeated together.
func (d *decider) repeat(rule Rule, known []Kept, messages *outgoing) {
	due := map[string]bool{}
	for _, k := range known {
		if k.State == Open && k.AbsentAt.IsZero() && d.now.Sub(k.ToldAt) >= lengthOf(rule.Repeat, UsualRepeat) && k.ToldAt.Before(d.now) && !isSilenced(k.Alert, d.silences, d.now) {
			due[rule.groupOf(k.Alert)] = true
		}
	}
	for i, k := range known {
		group := rule.groupOf(k.Alert)
		if due[group] && k.State == Open && k.AbsentAt.IsZero() && k.ToldAt.Before(d.now) && !isSilenced(k.Alert, d.silences, d.now) {
			known[i] = d.told(k)
			messages.add(Repeated, group, k.Alert)
		}
	}
}

// closeOrphans closes alerts that no rule asks for any more, without a message: the person
// who changed the rules knows.
func (d *decider) closeOrphans(known []Kept) {
	rules := d.config.RulesInForce()
	for _, k := range known {
		asked := slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == k.Rule && r.selects(k.Alert) })
		switch {
		case asked || !k.State.Live():
		case k.State == Pending:
			d.out.Forget = append(d.out.Forget, k)
		default:
			k.State, k.EndedAt = Closed, d.now
			d.out.Keep = append(d.out.Keep, k)
		}
	}
}

// outgoing collects the alerts of a rule by the messages they go into.
type outgoing struct {
	rule     Rule
	parts    []part
	resolved []Alert
}

type part struct {
	kind   Kind
	group  string
	alerts []Alert
}

func (o *outgoing) add(kind Kind, group string, a Alert) {
	for i, p := range o.parts {
		if p.kind == kind && p.group == group {
			o.parts[i].alerts = append(p.alerts, a)
			return
		}
	}
	o.parts = append(o.parts, part{kind, group, []Alert{a}})
}

// seal makes messages for all receivers of the rule.
func (o *outgoing) seal(c Config, now time.Time) (out []Addressed) {
	for _, a := range o.resolved {
		o.add(Resolved, o.rule.groupOf(a), a)
	}
	for _, kind := range []Kind{Resolved, Firing, Repeated} {
		var parts []part
		for _, p := range o.parts {
			if p.kind == kind {
				parts = append(parts, p)
			}
		}
		if len(parts) > Storm {
			parts = []part{joinParts(kind, parts)}
		}
		for _, p := range parts {
			m := newMessage(o.rule.Name, p, now)
			for _, receiver := range c.notifies(o.rule) {
				out = append(out, Addressed{receiver, m})
			}
		}
	}
	return out
}

func joinParts(kind Kind, parts []part) part {
	all := part{kind: kind}
	for _, p := range parts {
		all.alerts = append(all.alerts, p.alerts...)
	}
	return all
}

// newMessage makes a message whose id follows from what it says and when: a step that is
// done again gives the same one.
func newMessage(rule string, p part, now time.Time) Message {
	slices.SortStableFunc(p.alerts, func(a, b Alert) int { return cmp.Compare(rank(b.Severity), rank(a.Severity)) })
	id := []string{"alert", rule, string(p.kind), p.group, strconv.FormatInt(now.UnixMicro(), 10)}
	for _, a := range p.alerts {
		id = append(id, a.Key())
	}
	return Message{ID: "alert-" + fingerprint.Key(id...)[:32], Kind: p.kind, At: now, Rule: rule, Severity: p.alerts[0].Severity, Alerts: p.alerts}
}
