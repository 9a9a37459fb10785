package format

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 s"},
		{1, "1 ns"},
		{999, "999 ns"},
		{1000, "1 µs"},
		{1750, "1.75 µs"},
		{1754, "1.75 µs"},
		{1755, "1.76 µs"},
		{32 * time.Millisecond, "32 ms"},
		{32_440 * time.Microsecond, "32.4 ms"},
		{640 * time.Millisecond, "640 ms"},
		{999_499 * time.Nanosecond, "999 µs"},
		{999_600 * time.Nanosecond, "1 ms"},
		{999_999_999, "1 s"},
		{2114 * time.Millisecond, "2.11 s"},
		{3 * time.Second, "3 s"},
		{90 * time.Second, "90 s"},
		{999 * time.Second, "999 s"},
		{1000 * time.Second, "16.7 min"},
		{100 * time.Hour, "100 h"},
		{math.MaxInt64, "2562048 h"},
		{-980 * time.Millisecond, "-980 ms"},
		{math.MinInt64, "-2562048 h"},
	} {
		if got := Duration(tt.d); got != tt.want {
			t.Errorf("Duration(%d) = %q, want %q", int64(tt.d), got, tt.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		part, whole time.Duration
		want        string
	}{
		{0, 0, "–"},
		{1, 0, "–"},
		{1, -1, "–"},
		{0, 100, "0%"},
		{-1, 1000, "0%"},
		{1, 1_000_000, "<1%"},
		{4, 1000, "<1%"},
		{30, 3280, "1%"},
		{980, 3280, "30%"},
		{994, 1000, "99%"},
		{999, 1000, ">99%"},
		{1000, 1000, "100%"},
		{3080, 1000, "308%"},
	} {
		if got := Percent(tt.part, tt.whole); got != tt.want {
			t.Errorf("Percent(%d, %d) = %q, want %q", tt.part, tt.whole, got, tt.want)
		}
	}
}

func TestCapacity(t *testing.T) {
	for _, c := range []struct {
		wall, capacity time.Duration
		most           int
		want           string
	}{
		{2 * time.Second, 8 * time.Second, 4, "2 s × 4 processors"},
		{2 * time.Second, 2 * time.Second, 1, "2 s × 1 processor"},
		{2 * time.Second, 5 * time.Second, 4, "2 s × 2.50 processors on average, at most 4"},
		{0, 0, 4, "0 s × 4 processors"},
	} {
		if got := Capacity(c.wall, c.capacity, c.most); got != c.want {
			t.Errorf("Capacity(%v, %v, %d) = %q, want %q", c.wall, c.capacity, c.most, got, c.want)
		}
	}
}

func TestParallelism(t *testing.T) {
	for p, want := range map[float64]string{0: "0.00", -0.004: "0.00", 1: "1.00", 3.844: "3.84", 127.999: "128.00", math.Inf(1): "–", math.Inf(-1): "–"} {
		if got := Parallelism(p); got != want {
			t.Errorf("Parallelism(%v) = %q, want %q", p, got, want)
		}
	}
	if got := Parallelism(math.NaN()); got != "–" {
		t.Errorf("Parallelism(NaN) = %q", got)
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[float64]string{0: "0.00", 1.984: "1.98", 9.996: "10.0", 29.89: "29.9", 99.96: "100", 1370.6: "1,371", math.Inf(1): "–", math.Inf(-1): "–"} {
		if got := Number(n); got != want {
			t.Errorf("Number(%v) = %q, want %q", n, got, want)
		}
	}
	if got := Number(math.NaN()); got != "–" {
		t.Errorf("Number(NaN) = %q", got)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 1371: "1,371", 1_000_000: "1,000,000", -1371: "-1,371", -100: "-100",
		math.MinInt32: "-2,147,483,648",
	} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Count(uint64(math.MaxUint64)); got != "18,446,744,073,709,551,615" {
		t.Errorf("Count of the greatest uint64 = %q", got)
	}
	if got := Count(int64(math.MinInt64)); got != "-9,223,372,036,854,775,808" {
		t.Errorf("Count of the least int64 = %q", got)
	}
	if got := Plural(1, "goroutine", "goroutines") + ", " + Plural(1371, "goroutine", "goroutines"); got != "1 goroutine, 1,371 goroutines" {
		t.Error(got)
	}
}

func TestFunc(t *testing.T) {
	for name, want := range map[string]string{
		"":          "",
		"/":         "/",
		"main":      "main",
		"main.main": "main.main",
		"github.com/klauspost/pgzip.(*Writer).compressBlock": "pgzip.(*Writer).compressBlock",
		"net/http.(*Server).Serve":                           "http.(*Server).Serve",
		"net/http.(*conn).serve-fm":                          "http.(*conn).serve-fm",
		"example.com/queue/v2.Run.func1":                     "queue.Run.func1",
		"example.com/queue/v2/sub.Run":                       "sub.Run",
		"v2/v2.Run":                                          "v2.Run",
		"example.com/x.Map[...].func1":                       "x.Map[...].func1",
		"example.com/x.Map[go.shape.int,a.com/b/c.T].func1":  "x.Map[go.shape.int,a.com/b/c.T].func1",
		"gopkg.in/yaml.v3.Unmarshal":                         "yaml.v3.Unmarshal",
		"github.com/a/b.work (goroutine 17)":                 "b.work (goroutine 17)",
		"GC (mark/assist)":                                   "GC (mark/assist)",
		"12 others":                                          "12 others",
		"/api/users":                                         "/api/users",
		"/api/v1.0/x.y":                                      "/api/v1.0/x.y",
		"GET /api/v1.0":                                      "GET /api/v1.0",
		"read/parse":                                         "read/parse",
		"example.com/a.b/c":                                  "example.com/a.b/c",
		"glob..func1":                                        "glob..func1",
	} {
		if got := Func(name); got != want {
			t.Errorf("Func(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestFuncsKeepsNamesApart(t *testing.T) {
	for names, want := range map[string]string{
		"a.com/pool.Run d.com/pool.Stop":                     "pool.Run pool.Stop",
		"main.main main.main":                                "main.main main.main",
		"a.com/x/pool.Run b.com/x/pool.Run c.com/y/pool.Run": "a.com/x/pool.Run b.com/x/pool.Run y/pool.Run",
		"pool.Run a.com/pool.Run":                            "pool.Run a.com/pool.Run",
		"y/pool.Run c.com/y/pool.Run":                        "y/pool.Run c.com/y/pool.Run",
		"a.com/q.F a.com/q/v2.F":                             "a.com/q.F a.com/q/v2.F",
	} {
		if got := strings.Join(Funcs(strings.Fields(names)), " "); got != want {
			t.Errorf("Funcs(%s)\n got %s\nwant %s", names, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for s, want := range map[string]string{
		"main.main":               "main.main",
		"größe µ 世界":              "größe µ 世界",
		"a\nb\tc":                 "a b c",
		"\x1b[31mred":             "\ufffd[31mred",
		"\xff\xfe":                "\ufffd\ufffd",
		"user\u202egnp.exe\u200b": "user\ufffdgnp.exe\ufffd",
	} {
		if got := Clean(s); got != want {
			t.Errorf("Clean(%q) = %q, want %q", s, got, want)
		}
	}
}

func FuzzNames(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add("github.com/klauspost/pgzip.(*Writer).compressBlock", "a/v2.F")
	f.Add("v2.", "/.[")
	f.Fuzz(func(t *testing.T, a, b string) {
		Func(a)
		if short := Funcs([]string{a, b, a}); len(short) != 3 || (short[0] == short[1]) != (a == b) || short[0] != short[2] {
			t.Errorf("Funcs(%q, %q) = %q", a, b, short)
		}
		if c := Clean(a); !utf8.ValidString(c) || strings.ContainsAny(c, "\n\x1b\u202e") {
			t.Errorf("Clean(%q) = %q", a, c)
		}
	})
}
