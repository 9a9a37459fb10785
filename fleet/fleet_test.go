//go:build cgo

package fleet

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/bottleneck-go/bottleneck/internal/bulk"
)

var update = flag.Bool("update", false, "rewrite the answers in docs/fleet/queries.md")

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// weeks is the key of the fleet of these tests: SERVICE/VERSION/HOST/WEEK.trace.zst.
const weeks = `(?P<service>[^/]+)/(?P<version>[^/]+)/(?P<host>[^/]+)/(?P<window>[^/.]+)\.[^/]*$`

// testFleet has the real traces of testdata as if they were of the hosts of two services, and one that
// ends in the middle. It returns its directory.
func testFleet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, of := range map[string]string{
		"api/v1/web-1/2026-W46":   "nethttp-parallel4",
		"api/v1/web-2/2026-W46":   "nethttp-parallel4",
		"api/v2/web-1/2026-W47":   "stdlog-file",
		"api/v2/web-2/2026-W47":   "nethttp-parallel4",
		"batch/v1/job-1/2026-W46": "pgzip",
		"batch/v1/job-1/2026-W47": "pgzip",
		"batch/v1/job-2/2026-W46": "json-gogc5",
	} {
		data, err := os.ReadFile("../testdata/real/" + of + ".trace.zst")
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

func analyzeFile(t *testing.T, name string) *Results {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Analyze(t.Context(), f, name, 0)
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
	want := map[Key]*Results{}
	files, err := filepath.Glob(dir + "/*/*/*/*.zst")
	if err != nil || len(files) != 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		r := analyzeFile(t, file)
		part := strings.Split(strings.TrimSuffix(filepath.ToSlash(file), ".trace.zst"), "/")
		part = part[len(part)-4:]
		k := Key{part[0], part[1], part[2], part[3]}
		if want[k] != nil {
			t.Fatal("two traces for ", k)
		}
		want[k] = r
	}
	for _, tt := range []struct {
		table, sum string
		of         func(*Results) int64
	}{
		{"boxes", "share_ns", func(r *Results) int64 { return int64(r.Graph.Wall) }},
		{"ledger", "time", func(r *Results) int64 { return int64(r.Ledger.Capacity) }},
		{"stacks", "share_ns", func(r *Results) int64 { return int64(r.Graph.Wall - r.Graph.Idle) }},
		{"pairs", "coalesce(wait_ns, 0)", func(r *Results) (sum int64) {
			for i := range r.Contention.Waits {
				sum += int64(r.Contention.Waits[i].Waited)
			}
			return sum
		}},
		{"tasks", "coalesce(running_ns_sum, 0)", func(r *Results) (sum int64) {
			for i := range r.Tasks.Classes {
				sum += int64(r.Tasks.Classes[i].RunningNS.Sum())
			}
			return sum
		}},
		{"findings", "lost", func(r *Results) (sum int64) {
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
	var sum *Results
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
		} else if sum, err = Merge(sum, read); err != nil {
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
				row[len(row)-1] = h.Unit.Machine(c.Value)
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
			"tasks": {want.Tasks, read.Tasks}, "stacks": {want.Stacks, read.Stacks},
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
	all := make([]*Results, n)
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
	want, err := Merge(all...)
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
		t.Fatal(runFleet(t, Options{In: []string{dir + "/*/*/*/*.trace"}, Out: filepath.Join(dir, "out")}))
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

	mkfifo, err := exec.LookPath("mkfifo")
	if err != nil {
		t.Skip(err)
	}
	pipe := filepath.Join(dir, "service0/v1/host0/pipe.trace") // a trace that blocks its reader
	if out, err := exec.Command(mkfifo, pipe).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestClosedForm$")
	child.Env = append(os.Environ(), "FLEET_TO_KILL="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the child reads it
	if err != nil {
		t.Fatal(err)
	}
	child.Process.Kill()
	child.Wait()
	f.Close()
	if left, err := filepath.Glob(dir + "/out/*.parquet"); err != nil || len(left) != 0 {
		t.Errorf("it left %q, %v", left, err)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	opt.Out = filepath.Join(dir, "out")
	if err := runFleet(t, opt); err != nil {
		t.Fatal(err)
	}
	check(opt.Out)
}

// A trace that does not fit into the memory of the process beside others is analyzed again when
// these have ended.
func TestMemoryIsShared(t *testing.T) {
	others := make([]byte, 100<<20)
	alone.RLock()
	fn := &analyzeFn{Key: "x", MaxMemory: 100 << 20}
	fn.Setup()
	done := make(chan analyzed, 1)
	go func() {
		done <- fn.analyze(t.Context(), fileio.FileMetadata{Path: "../testdata/real/nethttp-parallel4.trace.zst"})
	}()
	for alone.TryRLock() { // until it waits for the others
		alone.RUnlock()
		select {
		case a := <-done:
			t.Fatalf("it has not waited: %q", a.Err)
		case <-time.After(time.Millisecond):
		}
	}
	runtime.KeepAlive(others)
	others = nil
	alone.RUnlock()
	if a := <-done; a.Err != "" || a.err != nil || a.results == nil {
		t.Errorf("alone: %q, %v", a.Err, a.err)
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
	r, err := Analyze(t.Context(), bytes.NewReader(data), "", 0)
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
		if err != nil || len(all) != 7 {
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
