package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/icon"
)

// The page is assembled from small files. Styles and scripts are each concatenated in the order
// below, and the content security policy allows only these two, by hash. The scripts share one
// function scope.
//
//go:embed page
var assets embed.FS

// scripts lists the modules in order: a module comes after those that it uses while loading.
var scripts = []string{
	"vendor/uPlot.iife.min.js",
	"element.js", "text.js", "color.js", "data.js", "state.js",
	"quanta.js", "remote.js",
	"table.js", "chips.js", "plot.js",
	"verdict.js", "bottle.js", "windows.js", "behind.js",
	"aggregate.js", "aspects.js", "tree.js", "chains.js", "contention.js",
	"histogram.js", "taskcharts.js", "tasks.js",
	"speedup.js",
	"overtime.js", "lanes.js", "summary.js", "counters.js",
	"main.js",
}

// styles lists the style sheets in order.
var styles = []string{"vendor/uPlot.min.css", "page.css", "controls.css", "charts.css"}

// page holds the parts that all pages have in common.
type page struct {
	head, tail    string // HTML around the title and the body's data
	script, style string
	// The hashes of script and style, for the policy.
	scriptHash, styleHash string
}

var thePage = sync.OnceValues(func() (*page, error) {
	frame, err := fs.ReadFile(assets, "page/page.html")
	if err != nil {
		return nil, err
	}
	p := &page{}
	var ok bool
	if p.head, p.tail, ok = strings.Cut(string(frame), "{{data}}"); !ok {
		return nil, fmt.Errorf("report: page.html has no place for the data")
	}
	if p.script, err = concatenate(scripts); err != nil {
		return nil, err
	}
	// The page's own modules share a scope; the vendored one must stay unchanged.
	vendor, own, _ := strings.Cut(p.script, "\n/* element.js */\n")
	p.script = vendor + "\n(async () => {\n\"use strict\";\n" + own + "})();\n"
	licence, err := fs.ReadFile(assets, "page/vendor/uPlot.LICENSE") // the license requires a copy
	if err != nil {
		return nil, err
	}
	p.script = "/* uPlot:\n\n" + strings.ReplaceAll(string(licence), "*/", "* /") + "\n*/\n" + p.script
	if p.style, err = concatenate(styles); err != nil {
		return nil, err
	}
	for _, s := range []string{p.script, p.style} {
		if low := strings.ToLower(s); strings.Contains(low, "</script") || strings.Contains(low, "</style") || strings.Contains(low, "<!--") {
			return nil, fmt.Errorf("report: a script or style would end too early")
		}
	}
	p.scriptHash, p.styleHash = hashOf(p.script), hashOf(p.style)
	p.tail = strings.Replace(p.tail, "{{script}}", p.script, 1)
	return p, nil
})

func concatenate(names []string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		text, err := fs.ReadFile(assets, "page/"+name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "/* %s */\n%s\n", name, text)
	}
	return b.String(), nil
}

// policy returns the content security policy, which allows only the script and the styles with
// these hashes. A served page may also query its server.
func policy(script string, styles []string, served bool) string {
	s := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:"
	if served {
		s += "; connect-src 'self'"
	}
	return s + "; script-src " + script + "; style-src " + strings.Join(styles, " ")
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// writePage writes the document, and returns its policy. Data from the recording appears only in
// the title, which is escaped; in the picture for readers without scripts, which package picture
// escapes; and in the data: JSON, compressed with gzip and encoded in base64.
func writePage(w io.Writer, d *Data, form object, served bool) (csp string, err error) {
	p, err := thePage()
	if err != nil {
		return "", err
	}
	data, err := pack(form)
	if err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	still, stillStyles, err := stillPicture(d)
	if err != nil {
		return "", err
	}
	styles := []string{p.styleHash}
	for _, style := range stillStyles {
		styles = append(styles, hashOf(style))
	}
	csp = policy(p.scriptHash, styles, served)
	head := strings.NewReplacer(
		"{{policy}}", html.EscapeString(csp),
		"{{icon}}", icon.Link,
		"{{title}}", html.EscapeString(format.Clean(d.title())),
		"{{style}}", p.style,
		"{{still}}", still,
	).Replace(p.head)
	for _, part := range []string{head, string(data), p.tail} {
		if _, err := io.WriteString(w, part); err != nil {
			return "", fmt.Errorf("report: writing the page: %w", err)
		}
	}
	return csp, nil
}

func pack(form object) ([]byte, error) {
	var b bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &b)
	z, _ := gzip.NewWriterLevel(text, gzip.BestSpeed) // the level is valid
	if err := json.NewEncoder(z).Encode(form); err != nil {
		return nil, err
	}
	err := cmp.Or(z.Close(), text.Close())
	return b.Bytes(), err
}

var styleElement = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// stillPicture returns the picture of the graph for readers without scripts, and its styles.
func stillPicture(d *Data) (svg string, styles []string, err error) {
	if d.Bottle == nil {
		return "", nil, nil
	}
	g := *d.Bottle
	g.Windows = nil
	var buf bytes.Buffer
	if err := picture.SVG(&buf, &g, picture.Options{Title: d.Title, Subtitle: d.Source}); err != nil {
		return "", nil, err
	}
	for _, m := range styleElement.FindAllStringSubmatch(buf.String(), -1) {
		styles = append(styles, m[1])
	}
	return buf.String(), styles, nil
}
