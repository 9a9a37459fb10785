package ledger

import (
	"cmp"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// chainKey identifies a part of a row by call chain.
type chainKey struct {
	rowKey
	calls, wakerCalls *timeline.Stack
}

// maxChains bounds the number of chains, as maxRows bounds the rows.
const maxChains = 1 << 15

// chain adds time to a part of a row, if it was lost. c is the cause of an empty processor.
func (r *rows) chain(k rowKey, calls *timeline.Stack, c *cause, t timeline.Time) {
	key := chainKey{rowKey: k}
	switch category := k.category(); {
	case category <= catSyscall:
		return
	case category == catIdle || category == catOutside:
		key.calls, key.wakerCalls = calls, c.wakerStack
	case category == catGCAssist, category == catGCSweep, category == catScheduler, category == catWakeUp:
		key.calls = calls
	}
	if _, known := r.chains[key]; !known && len(r.chains) >= maxChains {
		key = chainKey{rowKey: keyOf(k.category(), otherGroups, nil)}
	}
	if r.chains == nil {
		r.chains = map[chainKey]timeline.Time{}
	}
	r.chains[key] += t
}

// stacks returns the stacks of the pass, largest first.
func (o *Observer) stacks() (out []Row) {
	for k, t := range o.rows.chains {
		s := o.row(k.rowKey)
		s.Calls, s.WakerCalls, s.Time = k.calls, k.wakerCalls, time.Duration(t)
		out = append(out, s)
	}
	sortStacks(out)
	return out
}

// sortStacks sorts stacks, largest first, independent of their previous order.
func sortStacks(stacks []Row) {
	order.Stable(stacks, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), a.compareKey(&b), strings.Compare(a.Calls.String(), b.Calls.String()), strings.Compare(a.WakerCalls.String(), b.WakerCalls.String()))
	})
}
