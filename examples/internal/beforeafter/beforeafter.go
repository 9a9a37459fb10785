// Package beforeafter runs the variants of an example, one with a bottleneck at a lock and one with
// a repair, and compares their waits and their throughput.
//
// All variants run in one process, interleaved and for the same time. The best round of each
// counts: other programs on the machine can only slow it down.
package beforeafter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Variant is one way to do the work.
type Variant struct {
	Name  string
	About string      // one line
	Start func() Work // creates the data of one run
}

// Work is what the goroutines do concurrently.
type Work interface {
	Do(goroutine, n int) // the n-th piece of work of a goroutine
	Close()              // after the last one
}

// Options configures Run.
type Options struct {
	Goroutines int           // at least 2
	Time       time.Duration // of each variant, in all its rounds; more than 0
	Dir        string        // if not empty, the directory for profiles and pictures
	Unit       string        // the unit of work, such as "lines"
}

// Result is the best round of a variant.
type Result struct {
	Variant
	Done    int64         // pieces of work
	Wall    time.Duration // from the first to the last
	Profile *contention.Profile
	Waited  time.Duration // by all goroutines, for wrapped locks
	Worst   string        // the function with the most blame; "[hand-off]" if that is more; empty without waits
	Blamed  time.Duration // on Worst
}

// Rate returns the work per second.
func (r *Result) Rate() float64 { return float64(r.Done) / r.Wall.Seconds() }

// turns is the number of rounds of each variant.
const turns = 3

// Run runs the variants, writes a contention report for each and a table of all. It ends early,
// with an error, when ctx ends.
func Run(ctx context.Context, out io.Writer, variants []Variant, opt Options) ([]*Result, error) {
	results := make([]*Result, len(variants))
	for range turns {
		for i, v := range variants {
			r, err := measure(ctx, v, opt)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Name, err)
			}
			if results[i] == nil || r.Rate() > results[i].Rate() {
				results[i] = r
			}
		}
	}
	for _, r := range results {
		fmt.Fprintf(out, "── %s: %s ──\n\n", r.Name, r.About)
		if err := text.WriteContention(out, r.Profile, text.Options{Top: 3}); err != nil {
			return nil, err
		}
		fmt.Fprintln(out)
		if err := r.writeFiles(opt.Dir); err != nil {
			return nil, err
		}
	}
	return results, table(out, results, opt)
}

// measure runs a variant and collects its waits.
func measure(ctx context.Context, v Variant, opt Options) (*Result, error) {
	work := v.Start()
	if err := contention.Start(contention.Options{}); err != nil {
		return nil, err
	}
	begin := time.Now()
	t := &turn{ctx: ctx, work: work}
	end := time.AfterFunc(opt.Time/turns, func() { t.over.Store(true) })
	defer end.Stop()
	t.wg.Add(opt.Goroutines)
	for g := range opt.Goroutines {
		go t.worker(g)
	}
	t.wg.Wait()
	work.Close()
	wall := time.Since(begin)
	if err := errors.Join(contention.Stop(), ctx.Err()); err != nil {
		return nil, err
	}
	r := &Result{Variant: v, Done: t.done.Load(), Wall: wall, Profile: contention.Snapshot()}
	return r, r.blame()
}

// turn is one round of a variant.
type turn struct {
	ctx  context.Context
	work Work
	over atomic.Bool
	done atomic.Int64
	wg   sync.WaitGroup
}

// worker works until the end of the time.
func (t *turn) worker(g int) {
	defer t.wg.Done()
	n := 0
	for ; !t.over.Load() && t.ctx.Err() == nil; n++ {
		t.work.Do(g, n)
	}
	t.done.Add(int64(n))
}

// blame finds the function with most of the blame.
func (r *Result) blame() error {
	t, err := r.Profile.Aggregate(contention.ByOwnerFunc)
	if err != nil {
		return err
	}
	r.Waited = t.Waited
	if len(t.Children) > 0 {
		r.Worst, r.Blamed = t.Children[0].Key, t.Children[0].Waited
	}
	return nil
}

// writeFiles writes the profile in the forms that the READMEs mention.
func (r *Result) writeFiles(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	write := func(end string, form func(io.Writer) error) error {
		f, err := os.Create(filepath.Join(dir, r.Name+end))
		if err != nil {
			return err
		}
		return errors.Join(form(f), f.Close())
	}
	return errors.Join(
		write(".json", func(w io.Writer) error { return contention.WriteJSON(w, r.Profile) }),
		write(".pb.gz", func(w io.Writer) error {
			p, err := pprof.Contention(r.Profile, pprof.Options{View: contention.JoinedView, File: filepath.Base(os.Args[0])})
			if err != nil {
				return err
			}
			return p.Write(w)
		}),
		write(".svg", func(w io.Writer) error {
			d, err := picture.DrawContention(r.Profile, picture.Options{Title: r.Name + ": " + r.About})
			if err != nil {
				return err
			}
			return d.SVG(w)
		}),
	)
}

// table compares the variants.
func table(out io.Writer, results []*Result, opt Options) error {
	tw := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintf(tw, "\t%s/s\t\twaited at a time\tmost of it for\n", opt.Unit)
	for _, r := range results {
		worst := "none"
		if r.Worst != "" {
			worst = fmt.Sprintf("%s, %s", format.Func(r.Worst), format.Percent(r.Blamed, r.Waited))
		}
		fmt.Fprintf(tw, "%s\t%s\t×%.2f\t%s of %d\t%s\n", r.Name, format.Count(int64(r.Rate())), r.Rate()/results[0].Rate(),
			format.Parallelism(float64(r.Waited)/float64(r.Wall)), opt.Goroutines, worst)
	}
	return tw.Flush()
}
