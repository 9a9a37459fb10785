package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// chapter is a version of the service under load.
type chapter struct {
	name   string // of files, too
	about  string
	repair repairs

	rate  float64 // requests a second
	graph *bottle.Graph
	waits *contention.Profile
	tasks *granularity.Class // those of the pool
}

// chapters loads the original service, asks it what limits it, repairs that, and starts again.
func (o *options) chapters(ctx context.Context, w io.Writer) ([]*chapter, error) {
	chapters := []*chapter{
		{name: "before", about: "as it was first written"},
		{name: "cache", about: "the cache repaired: pages are made without a lock", repair: repairs{cache: true}},
		{name: "after", about: "the log repaired, too: lines are queued, and written many at once", repair: repairs{cache: true, log: true}},
	}
	for _, c := range chapters {
		fmt.Fprintf(w, "=== %s: the service, %s\n\n", c.name, c.about)
		if err := c.measure(ctx, o); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		if err := c.show(w); err != nil {
			return nil, err
		}
		if o.dir != "" {
			if err := c.write(o.dir); err != nil {
				return nil, err
			}
		}
	}
	fmt.Fprint(w, "=== all of it\n\n", table(chapters))
	return chapters, nil
}

// measure starts the service on a free port, loads it, and queries it like any service.
func (c *chapter) measure(ctx context.Context, o *options) error {
	s, err := start("127.0.0.1:0", "localhost:0", c.repair, false)
	if err != nil {
		return err
	}
	l, err := newLoad(s.url, o.clients)
	if err != nil {
		return errors.Join(err, s.stop())
	}
	loading, unload := context.WithCancel(ctx)
	wait := l.start(loading)
	err = c.ask(ctx, o, l, s.debug)
	if classes := s.tasks.Profile().Classes; len(classes) > 0 {
		c.tasks = &classes[0]
	}
	unload()
	return errors.Join(err, wait(), s.stop())
}

// warmUp is the time for filling the cache and making connections.
const warmUp = 300 * time.Millisecond

// ask counts requests for a while, and then queries the service about that time.
func (c *chapter) ask(ctx context.Context, o *options, l *load, mount string) error {
	if err := pause(ctx, warmUp); err != nil {
		return err
	}
	began := l.count()
	if err := pause(ctx, o.time); err != nil {
		return err
	}
	c.rate = l.count().rate(began)
	query := fmt.Sprintf("?format=json&seconds=%g", o.time.Seconds())
	err := fetch(ctx, mount+"graph"+query, func(r io.Reader) (err error) { c.graph, err = bottle.ReadJSON(r); return err })
	if err != nil {
		return err
	}
	return fetch(ctx, mount+"contention"+query, func(r io.Reader) (err error) { c.waits, err = contention.ReadJSON(r); return err })
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func fetch(ctx context.Context, url string, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("%s: %s: %s", url, resp.Status, text)
	}
	return read(resp.Body)
}

// show prints the reports of the service.
func (c *chapter) show(w io.Writer) error {
	if err := text.Write(w, c.graph, text.Options{Top: 6}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	opt := text.Options{Top: 3, By: []string{contention.ByLock, contention.ByOwnerFunc}}
	if err := text.WriteContention(w, c.locks(), opt); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%.0f requests/s\n", c.rate)
	if c.tasks != nil {
		fmt.Fprintf(w, "The tasks of the pool: %s.\n", c.tasks.Diagnosis)
		for _, s := range slices.Concat(c.tasks.Reasons, c.tasks.Advice) {
			fmt.Fprintf(w, "  %s\n", s)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// locks returns the waits for locks, without those for channels and the network, in which a service
// is idle.
func (c *chapter) locks() *contention.Profile {
	return c.waits.Filter([]string{contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind, contention.OnceKind}, nil, 0)
}

// waiting returns the mean number of goroutines waiting for locks, the lock with the most waiting,
// and its part.
func (c *chapter) waiting() (mean float64, worst string, part float64) {
	var all time.Duration
	rows := c.locks().LockTable()
	for _, r := range rows {
		all += r.Waited
	}
	if len(rows) == 0 || all == 0 || c.waits.Duration <= 0 {
		return 0, "", 0
	}
	// Waits that a wrapped lock has not logged, such as one that began earlier, have the lock's
	// class but not its name.
	waited, names := map[string]time.Duration{}, map[string]string{}
	for _, r := range rows {
		class := format.Func(r.Lock.Class)
		waited[class] += r.Waited
		if name := r.Lock.Name; name != "" && name != contention.SeveralLocks {
			names[class] = name
		}
	}
	var most string
	for class, d := range waited {
		if most == "" || d > waited[most] || d == waited[most] && class < most {
			most = class
		}
	}
	return float64(all) / float64(c.waits.Duration), cmp.Or(names[most], most), float64(waited[most]) / float64(all)
}

// table compares the chapters.
func table(chapters []*chapter) string {
	s := fmt.Sprintf("%-8s %-12s %-9s %-13s %-6s %-19s %s\n", "", "requests/s", "", "parallelism", "idle", "waiting for locks", "most of it for")
	for _, c := range chapters {
		mean, worst, part := c.waiting()
		most := "almost no waits"
		if mean >= 0.1 {
			most = fmt.Sprintf("%s, %.0f%%", worst, 100*part)
		}
		s += fmt.Sprintf("%-8s %-12.0f ×%-8.2f %-13s %-6s %-19s %s\n", c.name, c.rate, c.rate/chapters[0].rate, format.Parallelism(c.graph.MeanParallelism()),
			format.Percent(c.graph.Idle, c.graph.Wall), fmt.Sprintf("%.2f of %d", mean, workers), most)
	}
	return s
}

// write writes pictures.
func (c *chapter) write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	look := picture.Options{Title: fmt.Sprintf("%s: %.0f requests/s", c.name, c.rate), Subtitle: "examples/service, " + c.about, Top: 8}
	waits, err := picture.DrawContention(c.locks(), look)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, c.name)
	return errors.Join(
		atomicfile.Write(name+".svg", func(w io.Writer) error { return picture.SVG(w, c.graph, look) }),
		atomicfile.Write(name+"-contention.svg", waits.SVG))
}
