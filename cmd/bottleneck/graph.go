package main

import (
	"context"
	"flag"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func init() {
	register(&command{
		name:    "graph",
		rank:    1,
		args:    "[flags] [FILE | URL | -]",
		summary: "draw the bottle graph of an execution trace",
		help:    graphHelp,
		urls:    true,
		reads:   true,
		run:     runGraph,
	})
}

const graphHelp = `Graph draws the bottle graph of an execution trace: text in the terminal, or a picture,
a profile or data with -o.

The trace is a FILE, a URL, or standard input ("-", or nothing at all in a pipe); packed
with gzip or zstd, or not. A broken trace is drawn as far as it can be read. A graph that was
saved as JSON can be drawn again, in other forms.

What is drawn:

    -group BY        which goroutines share a box:
                       function   the function that they were started for: the outermost that
                                  is neither the compiler's, nor the standard library's, nor
                                  calls several others by function values (default)
                       start      the function of the go statement
                       creator    the name of the goroutine that started them
                       goroutine  each has its own
                       region     the innermost open runtime/trace region
                       task       the runtime/trace task
                       /regexp/   what it finds in the name by function: the first
                                  parenthesised part, or the whole match
    -window DURATION one graph for each stretch of that length, such as 500ms
    -from DURATION   leave out what comes before, from the beginning of the trace
    -to DURATION     leave out what comes after. Generations of the trace (about a second each)
                     that lie outside are not decoded. Goroutines that began in them are named by
                     what they do later; for -group creator, region or task, what is before -from
                     is decoded
    -generations A:B read the generations of the trace from A to B only, counted from 1; A: is to
                     the end. -from and -to then count from the beginning of A
    -offered         count goroutines that are ready to run as if they ran: what the program
                     offers to a larger machine
    -top N           show the N groups with the largest shares and fold the others; 0 shows
                     all. Text and pictures show 15 if not told otherwise, other forms all

Where it goes:

    -o FILE          write a file; its form follows from the name: .svg, .png, .json, .csv, .txt
                     or .pb.gz, for go tool pprof: each group with the call chains of its share.
                     May be given several times
    -format FORM     what goes to standard output: text, json, csv, svg, png or pprof;
                     text if there is neither -format nor -o
    -title TEXT      the title of pictures

A check for continuous integration:

    -fail CONDITION  exit with status 1 and one line that says why if the condition holds.
                     Several are separated by commas, or given one by one; one is enough.

    CONDITION = NAME ( < | <= | > | >= ) VALUE, where NAME is one of

        parallelism   mean number of goroutines that ran at once, idle time included
        lost-%        the part of the capacity, GOMAXPROCS × time, that was not used
        neck-%        the same without idle time: what was lost while something ran
        idle-%        the part of the time in which nothing ran
        gc-%          the garbage collector's part of the time
        in-c-%        the time for which goroutines were in C code, summed, in parts of the whole
                      time: 200 where two were there all the time
        wall          the whole time, as a duration: wall>2s
        group(NAME).share-%, group(NAME).lost-%, group(NAME).in-c-%, group(NAME).parallelism
                      those of one group, by the name in the graph, short or in full

    Exit status: 0 success, 1 failure or a condition that holds, 2 wrong usage.

Examples:

    go test -bench Sort -trace trace.out && bottleneck graph trace.out
    bottleneck graph -o graph.svg 'http://localhost:6060/debug/pprof/trace?seconds=5'
    curl -s http://localhost:6060/debug/pprof/trace?seconds=5 | bottleneck graph
    bottleneck graph -window 500ms -format json trace.out      # one object a line
    bottleneck graph -group '/^([^.]+)[.]/' trace.out          # by package
    bottleneck graph -o bottle.pb.gz trace.out && go tool pprof -http=: bottle.pb.gz
    bottleneck graph -fail 'parallelism<3,neck-%>30' trace.out
`

// graphFlags are the choices of the user.
type graphFlags struct {
	analysis[bottle.Graph]
	group string
	opt   bottle.Options
}

func (f *graphFlags) set() *flag.FlagSet {
	fs := f.analysis.set("graph", "groups", graphWritings, graphMeasures)
	fs.StringVar(&f.group, "group", "function", "")
	fs.DurationVar(&f.opt.Window, "window", 0, "")
	fs.DurationVar(&f.opt.From, "from", 0, "")
	fs.DurationVar(&f.opt.To, "to", 0, "")
	fs.BoolVar(&f.opt.Offered, "offered", false, "")
	return fs
}

// parse reads the flags and rejects what cannot be right before anything is read.
func (f *graphFlags) parse(std stdio, args []string) (source string, err error) {
	fs := f.set()
	if source, err = f.analysis.parse(std, args, "trace"); err != nil {
		return "", err
	}
	f.opt.Part = timeline.Part(f.part)
	if f.opt.Group, err = bottle.ParseGrouping(f.group); err != nil {
		return "", usagef("%v", err)
	}
	given := map[string]bool{}
	fs.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	if given["window"] && f.opt.Window <= 0 {
		return "", usagef("-window %v: want a positive duration, such as 500ms", f.opt.Window)
	}
	return source, checkBounds(fs, f.opt)
}

// checkBounds rejects -from and -to that bound nothing.
func checkBounds(fs *flag.FlagSet, opt bottle.Options) (err error) {
	if opt.From < 0 {
		return usagef("-from %v: want a time from the beginning of the trace", opt.From)
	}
	fs.Visit(func(fl *flag.Flag) {
		if fl.Name == "to" && opt.To <= opt.From {
			err = usagef("-to %v is not after -from %v", opt.To, opt.From)
		}
	})
	return err
}

func runGraph(ctx context.Context, std stdio, args []string) error {
	f := &graphFlags{}
	source, err := f.parse(std, args)
	if err != nil {
		return err
	}
	f.opt.Stacks = slices.Contains(f.to.asked(), "pprof")
	read := func(ctx context.Context, std stdio, in *input) (*bottle.Graph, error) {
		return readGraph(ctx, std, in, f.opt)
	}
	write := func(w io.Writer, form string, g *bottle.Graph, d drawing) error { return forms[form](w, g, d) }
	return f.run(ctx, std, source, read, write)
}

// readGraph reads a trace, with progress on a terminal. The graph may be there even if
// there is an error: it is then that of what could be read.
func readGraph(ctx context.Context, std stdio, in *input, opt bottle.Options) (*bottle.Graph, error) {
	return resultFrom(ctx, std, in, bn.Options{Want: bn.WantVerdict, Bottle: opt}, func(r *bn.Report) *bottle.Graph { return r.Bottle },
		func(r io.Reader, _ []byte) (*bottle.Graph, error) {
			g, err := readSaved(r, in.label, graphDiff, bottle.ReadJSON)
			group := opt.Group.String()
			switch {
			case err != nil:
				return nil, err
			case opt.Window != 0 || opt.From != 0 || opt.To != 0 || opt.Offered || opt.Part != timeline.Part{} || group != bottle.ByFunction.String() && group != g.GroupBy:
				return nil, usagef("-group, -window, -from, -to, -generations and -offered are for traces; %s is a graph already", in.label)
			}
			return g, nil
		})
}

// progressDelay is how long a command runs before it says what it is doing.
const progressDelay = 500 * time.Millisecond

// shownSource is what pictures call the trace: a URL, or a file without the
// folders of this machine.
func shownSource(label string) string {
	if strings.Contains(label, "://") {
		return label
	}
	return filepath.Base(label)
}
