package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// usualHz is Redis's default. Where Redis has nothing else to do it looks so often in a second for
// blocking reads that are over. The store's limit for such a read allows for that.
const usualHz = 10

// hz tells how late Redis ends blocking reads. Less than the default is a setting that somebody
// made.
func (f facts) hz() Finding {
	// INFO's own "hz" is what Redis has chosen for the moment, for many clients: not what was set.
	text := f.either("configured_hz", "hz")
	hz, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return f.untold("hz")
	case hz < usualHz:
		late := fmt.Sprintf("%d: blocking reads, and so waiters' looks, are up to %d ms late", hz, 1000/hz)
		return Finding{"hz", Advice, late, configSet("hz", strconv.Itoa(usualHz))}
	}
	return Finding{"hz", OK, text, ""}
}

// clockLimit is how far the clocks may be apart without a finding. Locks are not judged by it; who
// reads since when a lock is held, or compares fencing tokens with times, is misled.
const clockLimit = time.Second

// clock compares the clocks. The server read its own at some time between two readings of ours. So
// the quickest of the samples tells most, and the difference is known but for half of that round
// trip.
//
// A finding must be true of the whole of what is possible. If it is true of a part, the finding is
// Unknown.
func (x *examination) clock() Finding {
	quick := slices.MinFunc(x.times, func(a, b store.Clock) int { return int(a.Took() - b.Took()) })
	if quick.Refused != nil {
		return x.withheld("clock", "TIME", quick.Refused, "")
	}
	half := quick.Took() / 2 // what the difference is uncertain by
	ahead := quick.Server.Sub(quick.Sent.Add(half))
	text := fmt.Sprintf("the server's is %v %s ours, give or take %v", tenths(ahead.Abs()),
		aheadText(ahead), max(tenths(half), tenth))
	switch {
	case ahead.Abs()+half <= clockLimit:
		return Finding{"clock", OK, text, ""}
	case ahead.Abs()-half <= clockLimit: // it may be within the limit, and beyond
		return Finding{"clock", Unknown, text, ""}
	}
	return Finding{
		"clock", Advice, text + ": since when a lock is held is off by that",
		"run NTP on both machines",
	}
}

// Times are told in tenths of a millisecond. Finer ones differ from call to call. A difference of
// less is told as one tenth where 0 would claim too much.
const tenth = time.Millisecond / 10

func tenths(d time.Duration) time.Duration { return d.Round(tenth) }

// aheadText says on which side of ours the server's clock is.
func aheadText(d time.Duration) string {
	if d < 0 {
		return "behind"
	}
	return "ahead of"
}

// latency judges the median of the round trips by what a renewal may take, which is TTL/6 and at
// most the operation limit. Beyond that none succeeds and every lease is lost. From a tenth of it
// on there is little left for what happens now and then: a retransmission, a fork, a slow command
// of others.
func (x *examination) latency(ttl time.Duration) Finding {
	all := make([]time.Duration, len(x.times))
	for i, t := range x.times {
		all[i] = t.Took()
	}
	slices.Sort(all)
	median, limit := all[len(all)/2], min(ttl/6, store.OperationLimit)
	text := fmt.Sprintf("%v a round trip; a renewal may take %v",
		max(tenths(median), tenth), tenths(limit))
	switch remedy := "a longer TTL, or a Redis that is nearer or less busy"; {
	case median > limit:
		return Finding{"latency", Problem, text + ": leases cannot be renewed", remedy}
	case median > limit/10:
		return Finding{"latency", Advice, text, remedy}
	}
	return Finding{"latency", OK, text, ""}
}
