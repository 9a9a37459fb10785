package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// allowed has all elements and attributes of a picture: none of them runs, loads or refers to
// anything.
var allowed = map[string]string{
	"svg": "xmlns class role width height viewBox", "title": "", "desc": "", "style": "", "g": "",
	"rect": "class fill x y width height stroke-width",
	"path": "class stroke fill fill-opacity stroke-width stroke-dasharray d",
	"text": "class fill text-anchor transform x y font-size",
}

// checkSVG parses a picture and returns the texts of its elements by name.
func checkSVG(t *testing.T, b []byte) map[string][]string {
	t.Helper()
	if !utf8.Valid(b) {
		t.Fatal("not UTF-8")
	}
	d := xml.NewDecoder(bytes.NewReader(b))
	content := map[string][]string{}
	var stack []string
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%.2000s", err, b)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			name := tok.Name.Local
			attributes, ok := allowed[name]
			if !ok {
				t.Errorf("element %s", name)
			}
			for _, a := range tok.Attr {
				if !strings.Contains(" "+attributes+" ", " "+a.Name.Local+" ") {
					t.Errorf("attribute %s of %s", a.Name.Local, name)
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s=%q of %s is no number", a.Name.Local, a.Value, name)
				}
			}
			stack = append(stack, name)
			content[name] = append(content[name], "")
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) > 0 {
				last := content[stack[len(stack)-1]]
				last[len(last)-1] += string(tok)
			}
		case xml.Comment, xml.ProcInst, xml.Directive:
			t.Errorf("unexpected %T", tok)
		}
	}
	return content
}

func svgOf(t testing.TB, g *bottle.Graph, opt Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := SVG(&b, g, opt); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSVGIsWellFormedAndHarmless(t *testing.T) {
	everything(t, func(t *testing.T, g *bottle.Graph, opt Options) {
		b := svgOf(t, g, opt)
		content := checkSVG(t, b)
		if !bytes.HasPrefix(b, []byte("<svg ")) || !bytes.Contains(b, []byte(` role="img"`)) {
			t.Error("not an svg element with the role of an image")
		}
		if len(content["title"]) == 0 || len(content["desc"]) != 1 || content["desc"][0] == "" {
			t.Error("no title or no description")
		}
		if strings.ContainsAny(string(b), "\x00\x07\x1b\x7f\r\u202e\u2066") {
			t.Error("control characters")
		}
		for _, bad := range []string{"<script", "url(", "@import", "javascript:", " id="} {
			if bytes.Contains(b, []byte(bad)) {
				t.Errorf("contains %q", bad)
			}
		}
		if again := svgOf(t, g, opt); !bytes.Equal(b, again) {
			t.Error("two pictures of the same graph differ")
		}
	})
}

func TestSVGTooltipsAreComplete(t *testing.T) {
	g := lusearch()
	b := &g.Boxes[4]
	b.Group = `example.com/<b>"main" & co.main`
	b.Goroutines, b.Runnable = 1371, 2*ms
	b.Waiting = map[string]time.Duration{"mutex": 5 * ms, "sleep": 7 * ms, "never": 0}
	content := checkSVG(t, svgOf(t, g, Options{}))
	want := "example.com/<b>\"main\" & co.main\nshare 310 ms (9%)\nparallelism 1.46, of itself 1.00\nrunning 453 ms\nlost 6% of the capacity\nready without a processor 2 ms\n" +
		"blocked on sleep 7 ms\nblocked on mutex 5 ms\n1,371 goroutines\npart of the neck"
	found := 0
	for _, title := range content["title"] {
		if title == want {
			found++
		}
	}
	if found != 2 { // of the box and in the legend
		t.Errorf("%d tooltips have\n%s\n, want 2; there are %q", found, want, content["title"])
	}
}

func TestSVGHasADarkMode(t *testing.T) {
	style := checkSVG(t, svgOf(t, lusearch(), Options{}))["style"][0]
	light, dark, ok := strings.Cut(style, "@media (prefers-color-scheme:dark)")
	if !ok {
		t.Fatal("no dark mode")
	}
	for _, r := range roles {
		rule := regexp.MustCompile(`\.` + roleNames[r] + `\{fill:(#[0-9a-f]{6})\}`)
		l, d := rule.FindStringSubmatch(light), rule.FindStringSubmatch(dark)
		if l == nil || d == nil || l[1] == d[1] {
			t.Errorf("%s: light %v, dark %v", roleNames[r], l, d)
		}
	}
	if !strings.Contains(light, "tabular-nums") {
		t.Error("numbers are not tabular")
	}
	if n := strings.Count(style, "{") - strings.Count(style, "}"); n != 0 {
		t.Errorf("%d braces open", n)
	}
}

// failing is a writer that fails after n bytes.
type failing struct{ n int }

var errBroken = errors.New("broken")

func (f *failing) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errBroken
	}
	return len(b), nil
}

func TestErrors(t *testing.T) {
	g := lusearch()
	for name, form := range map[string]func(io.Writer, *bottle.Graph, Options) error{"SVG": SVG, "PNG": PNG} {
		if err := form(&failing{100}, g, Options{}); !errors.Is(err, errBroken) {
			t.Errorf("%s to a broken writer: %v", name, err)
		}
		if err := form(io.Discard, nil, Options{}); err == nil {
			t.Errorf("%s of no graph: no error", name)
		}
	}
	if err := WritePNG(io.Discard, &Drawing{width: 1000, height: 40_000}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a huge PNG: %v", err)
	}
}

func FuzzSVG(f *testing.F) {
	testenv.BriefFuzzing(f)
	for i, name := range hostileNames {
		f.Add(name, int64(i)*1e8, float64(i), "gc", int64(i)*1e7, 4, i%3 == 0)
	}
	f.Add("", int64(400*ms), -76.0, "0", int64(40*ms), 49, false)
	f.Add("main", int64(math.MaxInt64), math.NaN(), "tracer", int64(math.MinInt64), -1, true)
	style := []byte("<style>" + styleSheet() + "</style>\n")
	f.Fuzz(func(t *testing.T, name string, share int64, parallelism float64, kind string, idle int64, procs int, windows bool) {
		// Bytes; longer names are shortened, which is slow: TestHostileNames has them.
		const longest = 100
		name, kind = name[:min(len(name), longest)], kind[:min(len(kind), longest)]
		// A graph of more than three months, or of 100,000 concurrent goroutines, is drawn,
		// but its numbers need not fit.
		share, idle = share%(1<<53), idle%(1<<53)
		if math.Abs(parallelism) > 1e5 {
			parallelism = math.Mod(parallelism, 1e5)
		}
		g := graph(procs, time.Duration(idle),
			bottle.Box{Group: name, Kind: timeline.Kind(len(kind)), Share: time.Duration(share), Running: time.Duration(share) / 3, Parallelism: parallelism, Waiting: map[string]time.Duration{name: 1}},
			box(kind, bottle.GC, time.Duration(share)/7, parallelism/3))
		g.Offered = share%2 == 0
		g.Warnings = []string{name}
		g.GroupBy = kind
		if windows {
			for i := range 1 + len(name)%2 {
				w := *g
				w.Start = time.Duration(i) * time.Duration(share>>8)
				g.Windows = append(g.Windows, &w)
			}
		}
		opt := Options{Title: name, Subtitle: kind, Top: procs % 4}
		s := mustLayout(t, g, opt)
		var b bytes.Buffer
		if err := s.SVG(&b); err != nil {
			t.Fatal(err)
		}
		// It is always the same, and parsing XML takes most of the time.
		before, after, ok := bytes.Cut(b.Bytes(), style)
		if !ok {
			t.Fatalf("the style sheet has changed: %s", b.Bytes())
		}
		checkSVG(t, append(before, after...))
		if !(s.height > 0 && s.height < 20000) {
			t.Errorf("%v high", s.height)
		}
		for _, x := range texts(s) {
			if x0, y0, x1, y1 := x.bounds(); !(x0 > -1 && y0 > -1 && x1 < s.width+1 && y1 < s.height+1) {
				t.Errorf("%q leaves the picture: %v %v %v %v of %v × %v", x.s, x0, y0, x1, y1, s.width, s.height)
			}
		}
		if format.Clean(s.title) != s.title {
			t.Errorf("title %q", s.title)
		}
	})
}

// TestEscape checks the last line of defense by itself: names are cleaned before they get there.
func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		`a<b>&"c'`:                "a&lt;b&gt;&amp;&#34;c'",
		"\x00\x1b[0m\r\x7f\u0085": "\ufffd\ufffd[0m\ufffd\ufffd\ufffd",
		"\xff\ufffe\uffff":        "\ufffd\ufffd\ufffd",
		"one\ntwo\tµs 世":          "one\ntwo\tµs 世",
	} {
		if got := escape(s); got != want {
			t.Errorf("escape(%q) = %q, want %q", s, got, want)
		}
	}
}

// A picture that fills a window is not cut off there, and the window has its color in both modes.
func TestSVGAlone(t *testing.T) {
	light, dark, _ := strings.Cut(styleSheet(), "@media (prefers-color-scheme:dark)")
	if !strings.Contains(light, ":root{max-width:100%;height:auto}") || !strings.Contains(light, ":root{background:"+hexOf(lightTheme[paper])+"}") || !strings.Contains(dark, ":root{background:"+hexOf(darkTheme[paper])+"}") {
		t.Error(styleSheet())
	}
}
