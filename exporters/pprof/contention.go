package pprof

import (
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/contention"
)

// ContentionOptions says what a profile of lock contention shows. The zero value
// is ready to use.
type ContentionOptions struct {
	// View says whose call chains the stacks are; empty means [contention.OwnerView].
	View contention.View
	// File and BuildID name the executable that was profiled; empty when not known: pprof then
	// shows "program" in titles.
	File, BuildID string
}

// Contention turns a contention profile into a profile with the sample types
// contentions/count, delay/nanoseconds, the default, and ready/nanoseconds. The delays sum to what
// was waited, and ready is for how long goroutines were ready after that, until they had a
// processor, as far as the profile tells that from the waiting:
//
//	go tool pprof -top contention.pb.gz           # whom the waiting is to be blamed on
//	go tool pprof -http=: joined.pb.gz            # the flame graph of the joined view
//
// In the joined view, pprof's flame graph has from the root the calls of the waiter, then "[lock]
// name", "[held by]" and the calls of the owner upside down. Where the lock was on its way to its
// next owner, or it is not known who held it, "[hand-off]" or "[unattributed]" follows instead, and
// "[ready]" where the waiter was ready again. Frames in brackets are not code: their file name
// tells what they stand for.
//
// In the root's view, the call chains are those of the owners at the end of the chains of blame: of
// whoever blocked the owner, if that was itself blocked.
//
// In the waiter's view, contentions are the number of waits. In the others, they are the number of
// waits that an owner delayed: a wait behind three owners counts three times.
//
// Samples carry the labels kind, lock_class, and waiter_group, owner_group and root_group in the
// views in which they have a meaning; and lock, unless there are more than 100 of different names.
// Goroutine ids never become labels.
//
// Like [Write], it keeps under 16,000 samples and 4 MB: of what is too much, the shortest delays
// are added up under "[others]", and the profile's comments say so.
func Contention(p *contention.Profile, opt ContentionOptions) (*profile.Profile, error) {
	if p == nil {
		return nil, errors.New("pprof: no contention profile")
	}
	if opt.View == "" {
		opt.View = contention.OwnerView
	}
	if _, err := contention.ParseView(string(opt.View)); err != nil {
		return nil, fmt.Errorf("pprof: %w", err)
	}
	out := buildContention(p, opt)
	if err := out.CheckValid(); err != nil {
		return nil, fmt.Errorf("pprof: building the profile: %w", err)
	}
	return out, nil
}

// WriteContention writes the profile of [Contention] to w, compressed by gzip as is
// usual. The errors are those of Contention and of w.
func WriteContention(w io.Writer, p *contention.Profile, opt ContentionOptions) error {
	out, err := Contention(p, opt)
	if err != nil {
		return err
	}
	if err := out.Write(w); err != nil {
		return fmt.Errorf("pprof: writing the profile: %w", err)
	}
	return nil
}
