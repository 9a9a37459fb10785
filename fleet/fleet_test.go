//go:build cgo

package fleet

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/bottleneck-go/bottleneck/internal/bulk"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

var update = flag.Bool("update", false, "rewrite the answers in docs/fleet/queries.md")

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// weeks is the key of the fleet of these tests: SERVICE/VERSION/HOST/WEEK.trace.zst.
const weeks = `(?P<service>[^/]+)/(?P<version>[^/]+)/(?P<host>[^/]+)/(?P<window>[^/.]+)\.[^/]*$`

// testFleet has real traces as if they were of the hosts of three services, and one that
// ends in the middle. It returns its directory.
func testFleet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, of := range map[string]string{
		"api/v1/web-1/2026-W46":   "../testdata/real/nethttp-parallel4",
		"api/v1/web-2/2026-W46":   "../testdata/real/nethttp-parallel4",
		"api/v2/web-1/2026-W47":   "../testdata/real/stdlog-file",
		"api/v2/web-2/2026-W47":   "../testdata/real/nethttp-parallel4",
		"batch/v1/job-1/2026-W46": "../testdata/real/pgzip",
		"batch/v1/job-1/2026-W47": "../testdata/real/pgzip",
		"batch/v1/job-2/2026-W46": "../testdata/real/json-gogc5",
		"shop/v1/web-1/2026-W46":  "testdata/shop-v1", // examples/service -serve, with 3 clients
		"shop/v2/web-1/2026-W47":  "testdata/shop-v2", // the same with -repair-cache -repair-log
	} {
		data, err := os.ReadFile(of + ".trace.zst")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name+".trace.zst"), data)
	}
	write(t, filepath.Join(dir, "batch/v1/job-2/2026-W47.trace"), []byte("go 1.26 trace\x00\x00\x00\x01\x05"))
	return dir
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func analyzeFile(t *testing.T, name string) *resultSet {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := analyze(t.Context(), f, name, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func runFleet(t *testing.T, opt Options) error {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	if err := Build(s, opt); err != nil {
		return err
	}
	_, err := prism.Execute(context.Background(), p)
	return err
}

// query returns the rows of a query as texts, after the names of the columns.
func query(t *testing.T, q string) (rows [][]string) {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Query(q)
	if err != nil {
		t.Fatalf("%v\n%s", err, q)
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	rows = append(rows, columns)
	for r.Next() {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := r.Scan(to...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			if v != nil {
				row[i] = fmt.Sprint(v)
			}
		}
		rows = append(rows, row)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// The sums of the pipeline are those of adding the results of the files one after the other, and
// each table keeps the invariant of its result.
func TestSumsEqualSerialMerge(t *testing.T) {
	dir, out := testFleet(t), t.TempDir()
	if err := runFleet(t, Options{In: []string{dir + "/*/*/*/*"}, Out: out, Key: weeks, Shards: 3}); err != nil {
		t.Fatal(err)
	}
	want := map[groupKey]*resultSet{}
	files, err := filepath.Glob(dir + "/*/*/*/*.zst")
	if err != nil || len(files) != 9 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		r := analyzeFile(t, file)
		part := strings.Split(strings.TrimSuffix(filepath.ToSlash(file), ".trace.zst"), "/")
		part = part[len(part)-4:]
		k := groupKey{part[0], part[1], part[2], part[3]}
		if want[k] != nil {
			t.Fatal("two traces for ", k)
		}
		want[k] = r
	}
	for _, tt := range []struct {
		table, sum string
		of         func(*resultSet) int64
	}{
		{"boxes", "share_ns", func(r *resultSet) int64 { return int64(r.Graph.Wall) }},
		{"ledger", "time", func(r *resultSet) int64 { return int64(r.Ledger.Capacity) }},
		{"stacks", "share_ns", func(r *resultSet) int64 { return int64(r.Graph.Wall - r.Graph.Idle) }},
		{"pairs", "coalesce(wait_ns, 0)", func(r *resultSet) (sum int64) {
			for i := range r.Contention.Waits {
				sum += int64(r.Contention.Waits[i].Waited)
			}
			return sum
		}},
		{"tasks", "coalesce(running_ns_sum, 0)", func(r *resultSet) (sum int64) {
			for i := range r.Tasks.Classes {
				sum += int64(r.Tasks.Classes[i].RunningNS.Sum())
			}
			return sum
		}},
		{"critical", "time", func(r *resultSet) (sum int64) {
			for i := range r.Paths.Paths {
				sum += int64(r.Paths.Paths[i].Elapsed)
			}
			return sum
		}},
		{"findings", "lost", func(r *resultSet) (sum int64) {
			for i := range r.Verdict.Findings {
				sum += int64(r.Verdict.Findings[i].Lost)
			}
			return sum
		}},
	} {
		for _, by := range []string{"service", "service, version, host, \"window\""} {
			sums := map[string]int64{}
			for k, r := range want {
				key := k.Service
				if by != "service" {
					key = strings.Join([]string{k.Service, k.Version, k.Host, k.Window}, " ")
				}
				sums[key] += tt.of(r)
			}
			rows := query(t, fmt.Sprintf("select %s, sum(%s)::bigint from '%s/%s-*.parquet' group by %[1]s", by, tt.sum, out, tt.table))[1:]
			for _, row := range rows {
				key := strings.Join(row[:len(row)-1], " ")
				if got := row[len(row)-1]; got != fmt.Sprint(sums[key]) {
					t.Errorf("%s of %s by %s: %s, want %d", tt.sum, tt.table, key, got, sums[key])
				}
				delete(sums, key)
			}
			for key, sum := range sums {
				if sum != 0 {
					t.Errorf("%s has no rows of %s, which sum to %d", tt.table, key, sum)
				}
			}
		}
	}
}

// All traces of a key are added up, in any order.
func TestMergeOfAFleetIsMergeOfItsParts(t *testing.T) {
	dir, out := testFleet(t), t.TempDir()
	if err := runFleet(t, Options{In: []string{dir + "/*/*/*/*.zst"}, Out: out, Key: "(?P<service>batch|api)/"}); err != nil {
		t.Fatal(err)
	}
	var sum *resultSet
	files, _ := filepath.Glob(dir + "/batch/*/*/*.zst")
	slices.Reverse(files)
	for _, file := range files {
		written, err := encode(analyzeFile(t, file))
		if err != nil {
			t.Fatal(err)
		}
		read, err := decode(written)
		if err != nil {
			t.Fatal(err)
		}
		if sum == nil {
			sum = read
		} else if sum, err = merge(sum, read); err != nil {
			t.Fatal(err)
		}
	}
	if sum.Traces != 3 {
		t.Fatalf("%d traces", sum.Traces)
	}
	rows := query(t, fmt.Sprintf(`select "group", share_ns, running_ns, goroutines from '%s/boxes-*.parquet' where service = 'batch' order by all`, out))[1:]
	var want [][]string
	table := sum.Graph.Table()
	at := func(name string) int {
		for i := range table.Columns {
			if table.Columns[i].Name == name {
				return i
			}
		}
		t.Fatal("no column ", name)
		return 0
	}
	for _, cells := range table.Rows {
		var row []string
		for _, name := range []string{"group", "share_ns", "running_ns", "goroutines"} {
			h, c := &table.Columns[at(name)], &cells[at(name)]
			if row = append(row, ""); c.Known {
				row[len(row)-1] = h.Unit.Machine(*c)
			}
		}
		want = append(want, row)
	}
	for _, rows := range [][][]string{rows, want} {
		slices.SortFunc(rows, slices.Compare[[]string])
	}
	if !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
		t.Errorf("got %q\nwant %q", rows, want)
	}
}

// Encoding keeps all that merging and the tables use, to the bit.
func TestDecodedResultsAreEqual(t *testing.T) {
	files, err := filepath.Glob("../testdata/real/*.zst")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		r := analyzeFile(t, file)
		list, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		read, err := decode(list)
		if err != nil {
			t.Fatal(err)
		}
		want := r.withoutDetails()
		for name, of := range map[string][2]any{
			"graph": {want.Graph, read.Graph}, "ledger": {want.Ledger, read.Ledger}, "contention": {want.Contention, read.Contention},
			"tasks": {want.Tasks, read.Tasks}, "paths": {want.Paths, read.Paths}, "stacks": {want.Stacks, read.Stacks},
		} {
			a, err := json.Marshal(of[0])
			b, err2 := json.Marshal(of[1])
			if err != nil || err2 != nil || len(a) < 1000 || !bytes.Equal(a, b) {
				t.Errorf("%s: the %s differs: %d bytes of JSON, %d after decoding; %v, %v", file, name, len(a), len(b), err, err2)
			}
		}
		if read.Traces != 1 || read.Verdict != nil || len(read.Graph.Boxes[0].Stacks) > 0 || len(r.Graph.Boxes[0].Stacks) == 0 {
			t.Errorf("%s: %d traces; the verdict and the stacks of boxes are not for sums, and encoding modifies nothing", file, read.Traces)
		}
	}
	for _, broken := range []sums{{200}, {1, 0}, {3, 1, 2, 3}} {
		if _, err := decode(broken); err == nil {
			t.Errorf("%v has been decoded", broken)
		}
	}
}

// A list of results does not grow with their number, and their sum does not depend on when they
// were added up.
func TestListsStayShort(t *testing.T) {
	r := analyzeFile(t, "../testdata/real/pgzip.trace.zst")
	one, err := encode(r)
	if err != nil {
		t.Fatal(err)
	}
	read, err := decode(one)
	if err != nil {
		t.Fatal(err)
	}
	const n = 100
	var list sums
	all := make([]*resultSet, n)
	for i := range all {
		if list, err = add(list, one); err != nil {
			t.Fatal(err)
		}
		if len(list) > compactAt*2*len(one) {
			t.Fatalf("%d results have %d bytes, one has %d", i+1, len(list), len(one))
		}
		all[i] = read
	}
	sum, err := decode(list)
	if err != nil {
		t.Fatal(err)
	}
	want, err := merge(all...)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Traces != n || sum.Graph.Wall != n*r.Graph.Wall || sum.Ledger.Capacity != n*r.Ledger.Capacity || len(sum.Stacks) != len(r.Stacks) {
		t.Errorf("%d traces, wall time %v, capacity %v, %d stacks", sum.Traces, sum.Graph.Wall, sum.Ledger.Capacity, len(sum.Stacks))
	}
	for _, table := range tables {
		got, want := table.of(sum), table.of(want)
		for i := range max(len(got.Rows), len(want.Rows)) {
			if i >= min(len(got.Rows), len(want.Rows)) || fmt.Sprint(got.Rows[i]) != fmt.Sprint(want.Rows[i]) { // NaN is not equal
				t.Errorf("%s: row %d of %d is not that of adding all at once, of %d:\n%v\n%v", table.name, i, len(got.Rows), len(want.Rows), got.Rows[i], want.Rows[i])
			}
		}
	}
}

// The tables of generated traces have the shares and waits that follow from how these are made.
// A run that is killed leaves no file that a query would read, and is repeated with the same rows.
func TestClosedForm(t *testing.T) {
	const requests, traces = 400, 24
	if dir := os.Getenv("FLEET_TO_KILL"); dir != "" {
		t.Fatal(runFleet(t, Options{In: []string{perilous + dir + "/*/*/*/*.trace"}, Out: filepath.Join(dir, "out")}))
	}
	dir, out := t.TempDir(), t.TempDir()
	want := [][]string{{"service", "share", "waits"}}
	for s := range 3 {
		name := fmt.Sprintf("service%d", s)
		half := 1000 * (1 + s)
		for i := range traces / 3 {
			var b bytes.Buffer
			if err := bulk.Service(&b, "example.com/"+name, requests, time.Duration(half), 500); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name, "v1", fmt.Sprintf("host%d", i%2), fmt.Sprintf("%d.trace", i)), b.Bytes())
		}
		want = append(want, []string{name, fmt.Sprint(traces / 3 * requests * 2 * (half + 10)), fmt.Sprint(traces / 3 * requests)})
	}
	opt := Options{In: []string{dir + "/*/*/*/*.trace"}, Out: out}
	if err := runFleet(t, opt); err != nil {
		t.Fatal(err)
	}
	check := func(out string) {
		t.Helper()
		got := query(t, fmt.Sprintf(`select service, sum(share_ns)::bigint as share,
			(select sum(contentions)::bigint from '%s/pairs-*.parquet' p where p.service = b.service and kind = 'mutex' and p.owner_func not like '[%%') as waits
			from '%[1]s/boxes-*.parquet' b where "group" like 'example.com/%%.serve' group by service order by service`, out))
		if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	check(out)

	last := filepath.Join(dir, "service0/v1/host0/blocks-always.trace")
	write(t, last, []byte("go 1.26 trace\x00\x00\x00"))
	child := exec.Command(os.Args[0], "-test.run=^TestClosedForm$")
	child.Env = append(os.Environ(), "FLEET_TO_KILL="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for attempts(t, last) == 0 { // until a worker of the child reads it
		time.Sleep(time.Millisecond)
	}
	child.Process.Kill()
	child.Wait()
	if left, err := filepath.Glob(dir + "/out/*.parquet"); err != nil || len(left) != 0 {
		t.Errorf("it left %q, %v", left, err)
	}
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	opt.Out = filepath.Join(dir, "out")
	if err := runFleet(t, opt); err != nil {
		t.Fatal(err)
	}
	check(opt.Out)
}

// perils is the local file system, but the middle of a file named after a peril, such as
// killed-once.trace or killed-always.trace, meets its reader with it. The file of the same name with
// ".attempts" has a byte for each time that it was opened.
type perils struct{ filesystem.Interface }

const perilous = "perilous://"

func init() {
	filesystem.Register("perilous", func(ctx context.Context) filesystem.Interface { return perils{local.New(ctx)} })
}

func (p perils) List(ctx context.Context, glob string) ([]string, error) {
	names, err := p.Interface.List(ctx, strings.TrimPrefix(glob, perilous))
	for i := range names {
		names[i] = perilous + names[i]
	}
	return names, err
}

func (p perils) Size(ctx context.Context, name string) (int64, error) {
	return p.Interface.Size(ctx, strings.TrimPrefix(name, perilous))
}

func (p perils) OpenRead(ctx context.Context, name string) (io.ReadCloser, error) {
	name = strings.TrimPrefix(name, perilous)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	attempts, err := os.OpenFile(name+".attempts", os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	defer attempts.Close()
	attempts.Write([]byte{'.'})
	info, err := attempts.Stat()
	if err != nil {
		return nil, err
	}
	peril, often, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".trace"), "-")
	if often != "always" && (often != "once" || info.Size() > 1) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(data[:len(data)/2]), readerFunc(func([]byte) (int, error) {
		switch peril {
		case "killed":
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
		case "panics":
			go panic("of another goroutine")
		case "grows":
			for all := [][]byte{}; ; {
				all = append(all, bytes.Repeat([]byte{1}, 1<<20))
			}
		}
		select {} // as "blocks" does
	}))), nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// attempts returns how often a file has been opened.
func attempts(t *testing.T, name string) int {
	t.Helper()
	data, err := os.ReadFile(name + ".attempts")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(data)
}

// A file whose worker dies is analyzed again, with the same rows as if it had not died. One that
// always ends its worker is a row of the errors.
func TestWorkersDie(t *testing.T) {
	dir := t.TempDir()
	for name, of := range map[string]string{
		"s/v/killed-once/killed-once": "stdlog-file", "s/v/panics-once/panics-once": "pgzip", "s/v/calm/calm": "pgzip",
		"hostile/v/h/killed-always": "pgzip", "hostile/v/h/panics-always": "pgzip", "hostile/v/h/grows-always": "pgzip",
	} {
		data, err := os.ReadFile("../testdata/real/" + of + ".trace.zst")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name+".trace"), data)
	}
	opt := Options{In: []string{perilous + dir + "/*/*/*/*.trace"}, MaxMemory: 128 << 20}
	var rows [2][][][]string
	for i := range rows {
		opt.Out = t.TempDir()
		if err := runFleet(t, opt); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"killed-once", "panics-once", "calm"} {
			want := 1 + i
			if name != "calm" {
				want++ // the first time
			}
			if n := attempts(t, filepath.Join(dir, "s/v", name, name+".trace")); n != want {
				t.Errorf("run %d: %d attempts to read %s, want %d", i, n, name, want)
			}
		}
		errors := query(t, fmt.Sprintf("select parse_filename(file), error from '%s/errors-*.parquet' order by file", opt.Out))[1:]
		if want := [][]string{
			{"grows-always.trace", "worker died: exit status 1: memory exceeds 268 MB, 2 attempts"},
			{"killed-always.trace", "worker died: signal: killed, 2 attempts"},
			{"panics-always.trace", "worker died: exit status 2: panic: of another goroutine, 2 attempts"},
		}; !slices.EqualFunc(errors, want, slices.Equal[[]string]) {
			t.Errorf("errors: %q\nwant    %q", errors, want)
		}
		for _, table := range []string{"boxes", "ledger", "pairs", "tasks", "stacks", "findings", "errors"} {
			rows[i] = append(rows[i], query(t, fmt.Sprintf("select * from '%s/%s-*.parquet' order by all", opt.Out, table)))
		}
	}
	if n := len(rows[0][0]); n < 10 {
		t.Errorf("%d rows of boxes", n)
	}
	if !reflect.DeepEqual(rows[0], rows[1]) {
		t.Errorf("with workers that died:\n%q\nwithout:\n%q", rows[0], rows[1])
	}
}

// A trace that does not fit into a worker's part of the memory is analyzed again when the others have
// ended, with all of it.
func TestMemoryIsShared(t *testing.T) {
	var big bytes.Buffer
	if err := bulk.Named("goroutines at the same time").Write(&big, 30_000); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "big.trace")
	write(t, name, big.Bytes())
	fn := &analyzeFn{Key: "x", MaxMemory: memory.Least * int64(cap(running))}
	fn.Setup()
	alone.RLock()
	done := make(chan analyzed, 1)
	go func() { done <- fn.analyze(t.Context(), fileio.FileMetadata{Path: perilous + name}) }()
	for alone.TryRLock() { // until it waits for the others
		alone.RUnlock()
		select {
		case a := <-done:
			t.Fatalf("it has not waited: %q", a.Err)
		case <-time.After(time.Millisecond):
		}
	}
	alone.RUnlock()
	a := <-done
	fits := cap(running) > 1
	if n := attempts(t, name); n != 2 || a.err != nil || (a.Err == "") != fits {
		t.Errorf("%d attempts: %q, %v", n, a.Err, a.err)
	}
}

// A worker ends when the process that started it does, and one that is stopped in the middle of a
// file does not end the run of another.
func TestWorkersEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "blocks-always.trace")
	write(t, name, []byte("go 1.26 trace\x00\x00\x00"))
	w, err := startWorker()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.requests.Encode(request{File: perilous + name, MaxMemory: memory.Least}); err != nil {
		t.Fatal(err)
	}
	for attempts(t, name) == 0 {
		time.Sleep(time.Millisecond)
	}
	w.input.Close() // as if this process had ended
	if err := w.Wait(); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	fn := &analyzeFn{Key: "x"}
	fn.Setup()
	stopIdle()
	done := make(chan analyzed, 1)
	go func() { done <- fn.analyze(ctx, fileio.FileMetadata{Path: perilous + name}) }()
	for attempts(t, name) == 1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if a := <-done; a.err != context.Canceled || len(idle) != 0 {
		t.Errorf("canceled: %v, %d workers", a.err, len(idle))
	}
}

// A trace that cannot be read is a row; saved results are read as well; a second run replaces the
// files of the first one, and what a failed one left.
func TestBrokenTracesAreRows(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	data, err := os.ReadFile("../testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	r, err := analyze(t.Context(), bytes.NewReader(data), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := r.Graph.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "s/v/h/good.trace"), data)
	write(t, filepath.Join(dir, "s/v/h/cut.trace"), data[:len(data)*2/3])
	write(t, filepath.Join(dir, "s/v/h/no.trace"), []byte("no trace"))
	write(t, filepath.Join(dir, "s/v/h/empty.trace"), nil)
	write(t, filepath.Join(dir, "s/v/h/graph.json"), saved)
	write(t, filepath.Join(dir, "s/v/h/other.json"), []byte(`{"a": 1}`))
	write(t, filepath.Join(out, "boxes-00000-of-00001.parquet.part"), []byte("of a worker that died"))
	opt := Options{In: []string{dir + "/*/*/*/*"}, Out: out}
	for range 2 {
		if err := runFleet(t, opt); err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, row := range query(t, fmt.Sprintf("select file, error from '%s/errors-*.parquet' where service = 's' and host = 'h' order by file", out))[1:] {
			if row[1] == "" {
				t.Error("no reason for ", row[0])
			}
			files = append(files, filepath.Base(row[0]))
		}
		if want := []string{"cut.trace", "empty.trace", "no.trace", "other.json"}; !slices.Equal(files, want) {
			t.Errorf("errors of %q, want %q", files, want)
		}
		share := query(t, fmt.Sprintf("select sum(share_ns)::bigint >= %d from '%s/boxes-*.parquet'", 2*r.Graph.Wall, out))
		if share[1][0] != "true" {
			t.Error("the trace and the saved graph of it are not both in the boxes")
		}
		all, err := os.ReadDir(out)
		if err != nil || len(all) != 8 {
			t.Errorf("files: %v, %v", all, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, opt := range map[string]Options{
		"no input":               {Out: "x"},
		"no output":              {In: []string{"x"}},
		"missing closing )":      {In: []string{"x"}, Out: "x", Key: "("},
		`unknown group "hots"`:   {In: []string{"x"}, Out: "x", Key: "(?P<hots>x)"},
		"must not be negative":   {In: []string{"x"}, Out: "x", Shards: -1},
		"no files matching patt": {In: []string{filepath.Join(t.TempDir(), "*.trace")}, Out: t.TempDir()},
	} {
		if err := runFleet(t, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", opt, err, want)
		}
	}
}

// Each query of the documentation has the answer that stands below it.
func TestQueriesOfTheDocumentation(t *testing.T) {
	const name = "../docs/fleet/queries.md"
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := testFleet(t)
	t.Chdir(dir)
	if err := runFleet(t, Options{In: []string{"*/*/*/*.trace*"}, Out: "parquet", Key: weeks, Shards: 2}); err != nil {
		t.Fatal(err)
	}
	n := 0
	got := regexp.MustCompile("(?s)```sql\n(.*?)```\n\n```text\n(.*?)```\n").ReplaceAllStringFunc(string(doc), func(block string) string {
		n++
		q, _, _ := strings.Cut(strings.TrimPrefix(block, "```sql\n"), "```")
		var b strings.Builder
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		rows := query(t, q)
		if len(rows) < 2 {
			t.Errorf("no answer to\n%s", q)
		}
		for _, row := range rows {
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
		w.Flush()
		answer := regexp.MustCompile(`(?m) +$`).ReplaceAllString(b.String(), "")
		return "```sql\n" + q + "```\n\n```text\n" + answer + "```\n"
	})
	if n < 10 {
		t.Errorf("%d queries with answers", n)
	}
	if got == string(doc) {
		return
	}
	if !*update {
		t.Fatalf("other answers; go test -update writes them. Now:\n%s", got)
	}
	if err := os.WriteFile(absolute, []byte(got), 0o666); err != nil {
		t.Fatal(err)
	}
}
