package upsim

import "time"

const secondsPerDay = 86400

// dayLoad is how many works one UTC day gets, and where they may lie in it.
type dayLoad struct {
	from, to int64 // unix seconds, half-open
	count    int
	hot      bool
}

// weekdayLoad returns the relative load in thousandths, Sunday first: deposits
// fall at weekends.
func weekdayLoad(d time.Weekday) int64 {
	return [...]int64{400, 1100, 1200, 1200, 1150, 1050, 500}[d]
}

const (
	hotDayOdds   = 14 // one day in so many is hot
	hotDayFactor = 5
)

// spreadWorks shares the works of a configuration out over its days. It works in
// integers, so that the result is the same on every processor, and its counts
// add up to the total exactly.
func spreadWorks(cfg Config) []dayLoad {
	from, to := cfg.From.Unix(), cfg.To.Unix()
	if to <= from || cfg.PerDay <= 0 {
		return nil
	}
	total := (int64(cfg.PerDay)*(to-from) + secondsPerDay/2) / secondsPerDay
	loads, weights, sum := weighDays(cfg, from, to)
	if sum == 0 {
		return nil
	}
	var running, given int64
	for i := range loads {
		running += weights[i]
		upTo := running * total / sum
		loads[i].count = int(upTo - given)
		given = upTo
	}
	return loads
}

func weighDays(cfg Config, from, to int64) (loads []dayLoad, weights []int64, sum int64) {
	chance := newStream(cfg.Seed, 'd')
	for day := dayOf(from); day*secondsPerDay < to; day++ {
		load := dayLoad{from: max(from, day*secondsPerDay), to: min(to, (day+1)*secondsPerDay)}
		weight := int64(1000)
		if !cfg.Flat {
			weight = weekdayLoad(time.Unix(load.from, 0).UTC().Weekday())
			weight = weight * int64(800+chance.numberBelow(400)) / 1000
			if load.hot = chance.numberBelow(hotDayOdds) == 0; load.hot {
				weight *= hotDayFactor
			}
		}
		// A part of a day gets its part of the load; never zero, so that a span
		// of a few seconds still gets its works.
		weight = max(1, weight*(load.to-load.from)/secondsPerDay)
		loads, weights, sum = append(loads, load), append(weights, weight), sum+weight
	}
	return loads, weights, sum
}

// drawStamp draws an instant of the day. Half the works of a hot day fall into one
// hour, as after a bulk re-index.
func (l dayLoad) drawStamp(chance *stream) int64 {
	length := int(l.to - l.from)
	if l.hot && chance.numberBelow(2) == 0 && length > 3600 {
		burst := int64(length / 3)
		return l.from + burst + int64(chance.numberBelow(3600))%(int64(length)-burst)
	}
	return l.from + int64(chance.numberBelow(length))
}

// dayOf returns the number of the UTC day, also right before 1970.
func dayOf(unix int64) int64 {
	day := unix / secondsPerDay
	if unix%secondsPerDay < 0 {
		day--
	}
	return day
}
