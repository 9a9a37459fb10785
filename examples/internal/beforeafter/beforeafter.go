// Package beforeafter runs the variants of an example, one with a bottleneck at a lock and one with
// a repair, and compares their waits and their throughput.
//
// All variants run in one process, interleaved and for the same time. The best round of each
// counts: other programs on the machine can only slow it down.
package beforeafter

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Variant is one way to do the work.
type Variant struct {
	Name, About string // About is one line
	// Start creates the data of one run. do does the n-th piece of work of a goroutine, concurrently
	// with others, and end is called after the last one.
	Start func() (do func(goroutine, n int), end func())
}

// Options configures Run.
type Options struct {
	Goroutines int           // at least 2
	Time       time.Duration // of each variant, in all its rounds; more than 0
	Dir        string        // if not empty, the directory for profiles and pictures
	Unit       string        // the unit of work, such as "lines"
}

// Main is the main function of an example, which has defined its own flags: it parses the flags,
// runs the variants and exits, with status 2 for invalid flags and 1 after an error.
func Main(unit string, valid func() bool, variants func() []Variant) {
	log.SetFlags(0)
	log.SetPrefix(filepath.Base(os.Args[0]) + ": ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	opt := Options{Unit: unit}
	flag.IntVar(&opt.Goroutines, "goroutines", 8, "number of goroutines")
	flag.DurationVar(&opt.Time, "time", time.Second, "how long each version runs")
	flag.StringVar(&opt.Dir, "o", "", "`directory` to write profiles and pictures to")
	flag.Parse()
	if flag.NArg() > 0 || opt.Goroutines < 2 || opt.Time <= 0 || !valid() {
		flag.Usage()
		os.Exit(2)
	}
	if _, err := Run(ctx, os.Stdout, variants(), opt); err != nil {
		log.Fatal(err)
	}
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

// rounds is the number of rounds of each variant.
const rounds = 3

// Run runs the variants, writes a contention report for each and a table of all. It ends early,
// with an error, when ctx ends.
func Run(ctx context.Context, out io.Writer, variants []Variant, opt Options) ([]*Result, error) {
	results := make([]*Result, len(variants))
	for range rounds {
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
	do, end := v.Start()
	if err := contention.Start(contention.Options{}); err != nil {
		return nil, err
	}
	begin := time.Now()
	var over atomic.Bool
	defer time.AfterFunc(opt.Time/rounds, func() { over.Store(true) }).Stop()
	var done atomic.Int64
	var workers sync.WaitGroup
	for g := range opt.Goroutines {
		workers.Go(func() {
			n := 0
			for ; !over.Load() && ctx.Err() == nil; n++ {
				do(g, n)
			}
			done.Add(int64(n))
		})
	}
	workers.Wait()
	end()
	r := &Result{Variant: v, Done: done.Load(), Wall: time.Since(begin)}
	if err := errors.Join(contention.Stop(), ctx.Err()); err != nil {
		return nil, err
	}
	r.Profile = contention.Snapshot()
	t, err := r.Profile.Aggregate(contention.ByOwnerFunc)
	if err != nil {
		return nil, err
	}
	if r.Waited = t.Waited; len(t.Children) > 0 {
		r.Worst, r.Blamed = t.Children[0].Key, t.Children[0].Waited
	}
	return r, nil
}

// writeFiles writes the profile in the forms that the READMEs mention.
func (r *Result) writeFiles(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	p, err := pprof.Contention(r.Profile, pprof.Options{View: contention.JoinedView, File: filepath.Base(os.Args[0])})
	if err != nil {
		return err
	}
	d, err := picture.DrawContention(r.Profile, picture.Options{Title: r.Name + ": " + r.About})
	if err != nil {
		return err
	}
	name := filepath.Join(dir, r.Name)
	return errors.Join(
		atomicfile.Write(name+".json", func(w io.Writer) error { return contention.WriteJSON(w, r.Profile) }),
		atomicfile.Write(name+".pb.gz", p.Write),
		atomicfile.Write(name+".svg", d.SVG))
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
