// Package fleet analyzes any number of execution traces and saved results with Apache Beam, and
// writes what limits which service, version and host to Parquet files.
//
// A trace is analyzed where its bytes are read, in bounded memory, by a worker: one of several
// processes of the same executable, which beam.Init does not return in. A trace that cannot be read,
// or that two workers did not survive, is a row in the table of errors and does not end the run.
// Results are added up by service, version, host and window of time, as "bottleneck merge" does, and
// written as the tables boxes, ledger, pairs, tasks, critical and stacks; the findings of each trace
// are the table findings. docs/fleet describes the columns, with queries.
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"github.com/apache/beam/sdks/v2/go/pkg/beam"
//		_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
//		"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
//
//		"github.com/bottleneck-go/bottleneck/fleet"
//	)
//
//	func main() {
//		beam.Init()
//		p, s := beam.NewPipelineWithRoot()
//		err := fleet.Build(s, fleet.Options{In: []string{"traces/*.trace"}, Out: "parquet"})
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := beamx.Run(context.Background(), p); err != nil {
//			log.Fatal(err)
//		}
//	}
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"golang.org/x/sync/errgroup"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Options configures [Build].
type Options struct {
	// In are patterns of file names, with * and ?, such as "gs://bucket/traces/*/*.trace". A
	// trace may be compressed with gzip or zstd. The name of saved results ends in ".json".
	In []string
	// Out is the directory of the Parquet files. Files of an earlier run are replaced.
	Out string
	// Key is a regular expression for the names of files. Its groups named service, version,
	// host and window are the key. "" means [DefaultKey].
	Key string
	// Window is the length of a window. Without a group named window in Key, the time of a
	// trace is that of the last modification of its file. 0 means that all time is one window.
	Window time.Duration
	// Shards is the largest number of files for each table; 0 means 1. As many can be written at
	// once. A shard without traces has no files.
	Shards int
	// MaxMemory bounds the sum of the heaps of the processes that analyze traces, in bytes. Each
	// has an equal part. A trace that does not fit, or whose process dies, is analyzed again
	// alone with all of it, and is an error if that fails, too. 0 means half of the memory of
	// the machine or cgroup.
	MaxMemory int64
}

// DefaultKey takes the service, version and host from the directories of a file, as in
// SERVICE/VERSION/HOST/FILE. Those that are missing are empty.
const DefaultKey = `^(?:.*/)?(?P<service>[^/]+)/(?P<version>[^/]+)/(?P<host>[^/]+)/[^/]+$`

// groupKey identifies what is added up.
type groupKey struct{ Service, Version, Host, Window string }

var keyColumns = []string{"service", "version", "host", "window"}

// Build adds the pipeline to s. It returns an error if the options are invalid.
func Build(s beam.Scope, opt Options) error {
	key, err := regexp.Compile(cmp.Or(opt.Key, DefaultKey))
	switch {
	case err != nil:
		return fmt.Errorf("fleet: Key: %w", err)
	case len(opt.In) == 0:
		return errors.New("fleet: no input: Options.In is empty")
	case opt.Out == "":
		return errors.New("fleet: no output: Options.Out is empty")
	case opt.Window < 0 || opt.Shards < 0 || opt.MaxMemory < 0:
		return errors.New("fleet: Window, Shards and MaxMemory must not be negative")
	}
	for _, name := range key.SubexpNames() {
		if name != "" && !strings.Contains(" service version host window ", " "+name+" ") {
			return fmt.Errorf("fleet: Key: unknown group %q: groups are service, version, host and window", name)
		}
	}
	shards := max(1, opt.Shards)
	files := beam.Reshuffle(s, fileio.MatchAll(s, beam.CreateList(s, opt.In), fileio.MatchEmptyDisallow()))
	results, traces := beam.ParDo2(s, &analyzeFn{Key: key.String(), Window: opt.Window, MaxMemory: opt.MaxMemory, Shards: shards}, files)
	all := beam.CombinePerKey(s, &mergeFn{}, results)
	beam.ParDo0(s, &writeSumsFn{Out: opt.Out, Shards: shards}, beam.GroupByKey(s, beam.ParDo(s, &shardSumsFn{Shards: shards}, all)))
	beam.ParDo0(s, &writeTracesFn{Out: opt.Out, Shards: shards}, beam.GroupByKey(s, traces))
	return nil
}

// fileRow is what is known of a single file.
type fileRow struct {
	Key      groupKey
	File     string
	Findings []verdict.Finding
	Capacity int64
	Err      string
}

// keySum is the sum of the results for a key.
type keySum struct {
	Key  groupKey
	Data []byte // for decode
}

func init() {
	register.DoFn4x1[context.Context, fileio.FileMetadata, func(groupKey, []byte), func(int, fileRow), error](&analyzeFn{})
	register.Emitter2[groupKey, []byte]()
	register.Emitter2[int, fileRow]()
	register.Combiner1[[]byte](&mergeFn{})
	register.DoFn2x2[groupKey, []byte, int, keySum](&shardSumsFn{})
	register.DoFn3x1[context.Context, int, func(*keySum) bool, error](&writeSumsFn{})
	register.DoFn3x1[context.Context, int, func(*fileRow) bool, error](&writeTracesFn{})
	register.Iter1[keySum]()
	register.Iter1[fileRow]()
	beam.RegisterType(reflect.TypeFor[groupKey]())
	beam.RegisterType(reflect.TypeFor[keySum]())
	beam.RegisterCoder(reflect.TypeFor[fileRow](), encodeTrace, decodeTrace)
}

// analyzeFn analyzes files concurrently: a runner passes them one after the other.
type analyzeFn struct {
	Key       string
	Window    time.Duration
	MaxMemory int64
	Shards    int

	key     *regexp.Regexp
	pending []chan analyzed // in the order of the files
}

type analyzed struct {
	fileRow
	results sums
	err     error // the run ends, not the trace
}

var (
	// running limits the analyses of a process, which may have several bundles, to its processors.
	running = make(chan struct{}, runtime.GOMAXPROCS(0))
	// alone is locked by an analysis that may use all of the memory.
	alone sync.RWMutex
)

func (fn *analyzeFn) Setup() { fn.key = regexp.MustCompile(fn.Key) }

func (fn *analyzeFn) StartBundle(context.Context, func(groupKey, []byte), func(int, fileRow)) {
	fn.pending = nil
}

func (fn *analyzeFn) ProcessElement(ctx context.Context, file fileio.FileMetadata, results func(groupKey, []byte), traces func(int, fileRow)) error {
	done := make(chan analyzed, 1)
	running <- struct{}{}
	background.Go(func() {
		defer func() { <-running }()
		done <- fn.analyze(ctx, file)
	})
	fn.pending = append(fn.pending, done)
	return fn.emit(8*cap(running), results, traces) // a long analysis must not make the others wait
}

func (fn *analyzeFn) FinishBundle(_ context.Context, results func(groupKey, []byte), traces func(int, fileRow)) error {
	return fn.emit(0, results, traces)
}

// emit waits until at most this many files are pending.
func (fn *analyzeFn) emit(most int, results func(groupKey, []byte), traces func(int, fileRow)) error {
	for len(fn.pending) > most {
		a := <-fn.pending[0]
		fn.pending = fn.pending[1:]
		if a.err != nil {
			return a.err
		}
		if a.results != nil {
			results(a.Key, a.results)
		}
		traces(shard(a.Key, fn.Shards), a.fileRow)
	}
	return nil
}

func (fn *analyzeFn) analyze(ctx context.Context, file fileio.FileMetadata) (a analyzed) {
	a.Key, a.File = fn.keyOf(file), file.Path
	limit := cmp.Or(fn.MaxMemory, memory.Default())
	alone.RLock()
	out, death, err := request{File: file.Path, MaxMemory: max(memory.Least, limit/int64(cap(running)))}.ask(ctx)
	alone.RUnlock()
	if err == nil && (death != "" || out.TooLarge) { // perhaps because of others
		alone.Lock()
		stopIdle()
		out, death, err = request{File: file.Path, MaxMemory: max(memory.Least, limit)}.ask(ctx)
		alone.Unlock()
	}
	if death != "" {
		out.Err = "worker died: " + death + ", 2 attempts"
	}
	a.Findings, a.Capacity, a.Err = out.Findings, out.Capacity, out.Err
	a.results, a.err = out.Results, err
	return a
}

func (fn *analyzeFn) keyOf(file fileio.FileMetadata) (k groupKey) {
	m := fn.key.FindStringSubmatch(file.Path)
	part := func(name string) string {
		if i := fn.key.SubexpIndex(name); m != nil && i >= 0 {
			return m[i]
		}
		return ""
	}
	k = groupKey{part("service"), part("version"), part("host"), part("window")}
	if fn.Window > 0 && fn.key.SubexpIndex("window") < 0 && !file.LastModified.IsZero() {
		k.Window = file.LastModified.UTC().Truncate(fn.Window).Format(time.RFC3339)
	}
	return k
}

// mergeFn adds results up.
type mergeFn struct{}

func (*mergeFn) MergeAccumulators(a, b []byte) ([]byte, error) { return add(a, b) }

func shard(k groupKey, n int) int {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q", k)
	return int(h.Sum32() % uint32(n))
}

type shardSumsFn struct{ Shards int }

func (fn *shardSumsFn) ProcessElement(k groupKey, data []byte) (int, keySum) {
	return shard(k, fn.Shards), keySum{k, data}
}

// writeSumsFn writes the tables of the sums in a shard.
type writeSumsFn struct {
	Out    string
	Shards int
}

func (fn *writeSumsFn) ProcessElement(ctx context.Context, shard int, next func(*keySum) bool) error {
	var names []string
	var columns [][]result.Head
	for _, t := range tables {
		names = append(names, t.name)
		columns = append(columns, t.of(empty).Columns)
	}
	return writeFiles(ctx, fn.Out, shard, fn.Shards, names, columns, func(to []*writer) error {
		var all errgroup.Group
		all.SetLimit(runtime.GOMAXPROCS(0))
		for s := (keySum{}); next(&s); s = (keySum{}) {
			all.Go(func() error {
				r, err := decode(s.Data)
				for i := 0; i < len(tables) && err == nil; i++ {
					err = to[i].write(s.Key, tables[i].of(r))
				}
				return err
			})
		}
		return all.Wait()
	})
}

// writeTracesFn writes the findings and errors of the traces in a shard.
type writeTracesFn struct {
	Out    string
	Shards int
}

func (fn *writeTracesFn) ProcessElement(ctx context.Context, shard int, next func(*fileRow) bool) error {
	columns := [][]result.Head{result.Heads(findingColumns), result.Heads(errorColumns)}
	return writeFiles(ctx, fn.Out, shard, fn.Shards, []string{"findings", "errors"}, columns, func(to []*writer) error {
		for t := (fileRow{}); next(&t); t = (fileRow{}) {
			var findings []finding
			for i := range t.Findings {
				findings = append(findings, finding{t.File, &t.Findings[i]})
			}
			if err := to[0].write(t.Key, result.New(findingColumns, findings, t.Capacity)); err != nil {
				return err
			}
			if t.Err != "" {
				if err := to[1].write(t.Key, result.New(errorColumns, []fileRow{t}, 0)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// writeFiles writes one Parquet file for each table. Where files can be renamed, they get their
// names when all are complete, so a repeated attempt replaces what a failed one left.
func writeFiles(ctx context.Context, dir string, shard, shards int, tables []string, columns [][]result.Head, rows func([]*writer) error) (err error) {
	fs, err := filesystem.New(ctx, dir)
	if err != nil {
		return err
	}
	defer fs.Close()
	renamer, renames := fs.(filesystem.Renamer)
	temporary, final := make([]string, len(tables)), make([]string, len(tables))
	to, files := make([]*writer, len(tables)), make([]io.Closer, len(tables))
	for i, name := range tables {
		final[i] = join(dir, fmt.Sprintf("%s-%05d-of-%05d.parquet", name, shard, shards))
		temporary[i] = final[i]
		if renames {
			temporary[i] += ".part"
		}
		f, err := fs.OpenWrite(ctx, temporary[i])
		if err != nil {
			return err
		}
		files[i], to[i] = f, newWriter(f, name, columns[i])
	}
	err = rows(to)
	for i := range tables {
		err = errors.Join(err, to[i].close(), files[i].Close())
	}
	for i := range tables {
		if renames && err == nil {
			err = renamer.Rename(ctx, temporary[i], final[i])
		}
	}
	return err
}

// join is path.Join for names that may begin with a scheme.
func join(dir, name string) string {
	if scheme, rest, ok := strings.Cut(dir, "://"); ok {
		return scheme + "://" + path.Join(rest, name)
	}
	return path.Join(dir, name)
}
