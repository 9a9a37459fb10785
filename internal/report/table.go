package report

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// tableStyle is the style sheet of a table page.
const tableStyle = `body{font:15px/1.4 system-ui,sans-serif;margin:2em;color-scheme:light dark}img{max-width:100%;height:auto}` +
	`table{border-collapse:collapse}caption{text-align:left;font-weight:bold;padding:.4em 0}` +
	`th,td{padding:.2em .7em;text-align:left;border-bottom:1px solid #8884}` +
	`.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tfoot{font-weight:bold}`

// WriteTable writes the table of any result as a small HTML page, which loads and runs nothing.
// Numbers are formatted for people; their tooltips have all digits. The error is that of w.
func WriteTable(w io.Writer, t *result.Table) error { return WritePicture(w, t, "") }

// WritePicture is [WriteTable] with an SVG document above the table.
func WritePicture(w io.Writer, t *result.Table, svg string) error {
	sum := sha256.Sum256([]byte(tableStyle))
	var b strings.Builder
	title := html.EscapeString(format.Clean(t.Title))
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'sha256-` + base64.StdEncoding.EncodeToString(sum[:]) + "'\">\n" +
		`<meta name="viewport" content="width=device-width">` + "\n<title>" + title + "</title>\n<style>" + tableStyle + "</style>\n</head>\n<body>\n")
	if svg != "" {
		b.WriteString(`<p><img alt="` + title + `" src="data:image/svg+xml;base64,` + base64.StdEncoding.EncodeToString([]byte(svg)) + "\"></p>\n")
	}
	b.WriteString("<table>\n<caption>" + title + "</caption>\n<thead>\n<tr>")
	for i := range t.Columns {
		h := &t.Columns[i]
		b.WriteString("<th scope=\"col\"" + class(h) + " title=\"" + html.EscapeString(h.Help) + "\">" + html.EscapeString(h.Title) + "</th>")
		if h.Whole > 0 {
			b.WriteString(`<th scope="col" class="n">%</th>`)
		}
	}
	b.WriteString("</tr>\n</thead>\n<tbody>\n")
	for _, row := range t.Rows {
		tableRow(&b, t, row)
	}
	b.WriteString("</tbody>\n<tfoot>\n")
	for _, row := range t.Footer() {
		tableRow(&b, t, row)
	}
	b.WriteString("</tfoot>\n</table>\n</body>\n</html>\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report: writing: %w", err)
	}
	return nil
}

func class(h *result.Head) string {
	if h.Unit.IsText() {
		return ""
	}
	return ` class="n"`
}

func tableRow(b *strings.Builder, t *result.Table, row []result.Value) {
	b.WriteString("<tr>")
	for i := range row {
		h, c := &t.Columns[i], &row[i]
		short, full := "", ""
		if c.Known {
			short, full = format.Clean(h.Format(c)), format.Clean(h.Unit.Machine(*c))
		}
		b.WriteString("<td" + class(h))
		if full != short {
			b.WriteString(` title="` + html.EscapeString(full) + `"`)
		}
		b.WriteString(">" + html.EscapeString(short) + "</td>")
		if h.Whole > 0 {
			b.WriteString(`<td class="n">` + html.EscapeString(h.Percent(c)) + "</td>")
		}
	}
	b.WriteString("</tr>\n")
}
