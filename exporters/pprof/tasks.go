package pprof

import (
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// TasksOptions says what a profile of task granularity shows. The zero value is ready to use.
type TasksOptions struct {
	// Submission roots the stacks in the call chains that submitted the tasks, instead of those
	// that created them.
	Submission bool
	// File and BuildID name the executable that was profiled; empty when not known: pprof then
	// shows "program" in titles.
	File, BuildID string
}

// Tasks turns a profile of tasks into a profile with the sample types tasks/count, cycles/count and
// time/nanoseconds, the default:
//
//	go tool pprof -top tasks.pb.gz                                  # which classes execute for how long
//	go tool pprof -peek 'main.walk' -sample_index=tasks tasks.pb.gz  # how many tasks a function creates
//	go tool pprof -tags tasks.pb.gz                                 # how large the tasks are
//
// The stacks are the call chains that created the tasks, or submitted them, with the class as the
// leaf, "[class] name". That is not code: its file name is "class". Each sample carries the labels
// granularity, the decade of its tasks' granularity such as "1e4-1e5 cycles" (or "10µs-100µs" in a
// profile by time), class, diagnosis, and pool where there is one.
//
// Time is cycles by their frequency; running time in a profile from a trace; and time on the
// processor where cycles have no fixed length. Cycles are 0 where they are not known. The samples
// of a site sum to its cycles; a sample of one decade is as exact as the histogram's buckets, 1 %.
//
// Like [Write], it keeps under 16,000 samples and 4 MB: the smallest sites are added up under
// "[others]", and the profile's comments say so.
func Tasks(p *granularity.Profile, opt TasksOptions) (*profile.Profile, error) {
	if p == nil {
		return nil, errors.New("pprof: no profile of tasks")
	}
	out := buildTasks(p, opt)
	if err := out.CheckValid(); err != nil {
		return nil, fmt.Errorf("pprof: building the profile: %w", err)
	}
	return out, nil
}

// WriteTasks writes the profile of [Tasks] to w, compressed by gzip as is usual. The errors
// are those of Tasks and of w.
func WriteTasks(w io.Writer, p *granularity.Profile, opt TasksOptions) error {
	out, err := Tasks(p, opt)
	if err != nil {
		return err
	}
	if err := out.Write(w); err != nil {
		return fmt.Errorf("pprof: writing the profile: %w", err)
	}
	return nil
}
