package live

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/exporters/internal/series"
)

// The media types of metrics: Prometheus text format, and OpenMetrics on request.
const (
	metricsType     = "text/plain; version=0.0.4; charset=utf-8"
	openMetrics     = "application/openmetrics-text"
	openMetricsType = openMetrics + "; version=1.0.0; charset=utf-8"
)

var metricsEndpoint = endpoint{
	name:  "metrics",
	title: "Metrics",
	about: "Counters for Prometheus, of all that the continuous analysis has seen so far. rate(bottleneck_running_seconds_total) / rate(bottleneck_share_seconds_total) is a group's parallelism.",
	forms: []form{formText},
	missing: func(h *handler) string {
		if h.continuous == nil && h.tasks == nil && h.opt.Captures == nil {
			return "there is nothing to count: none of live.Options.Continuous, Tasks and Captures is set"
		}
		return ""
	},
}

// serveMetrics serves the metrics at once, even if two servers scrape at the same time. It uses
// OpenMetrics if the client prefers it at least as much as text, and gzip if the client accepts it.
func (h *handler) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	open := prefersOpenMetrics(r.Header)
	w.Header().Set("Content-Type", metricsType)
	if open {
		w.Header().Set("Content-Type", openMetricsType)
	}
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	packed := acceptsGzip(r.Header)
	if packed {
		w.Header().Set("Content-Encoding", "gzip")
	}
	if r.Method == http.MethodHead {
		return nil
	}
	body := writeMetrics(h.series.Read(), open)
	if packed {
		var buf bytes.Buffer
		z, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
		z.Write(body)
		z.Close()
		body = buf.Bytes()
	}
	if err := h.room.take(int64(len(body))); err != nil {
		return err
	}
	h.send(w, content{data: body})
	return nil
}

// prefersOpenMetrics reports whether the Accept header names OpenMetrics, and text with at most the
// same quality.
func prefersOpenMetrics(header http.Header) bool {
	best := qualities(header.Values("Accept"))
	return best[openMetrics] > 0 && best[openMetrics] >= best["text/plain"]
}

// acceptsGzip reports whether the client accepts gzip.
func acceptsGzip(header http.Header) bool {
	best := qualities(header.Values("Accept-Encoding"))
	if q, named := best["gzip"]; named {
		return q > 0
	}
	return best["*"] > 0
}

// writeMetrics writes counters in Prometheus text format, or in OpenMetrics if open.
func writeMetrics(families []series.Family, open bool) []byte {
	m := metricWriter{open: open}
	for _, f := range families {
		if len(f.Points) > 0 || f.Type == series.Counter {
			m.family(&f)
		}
	}
	if open {
		m.buf.WriteString("# EOF\n")
	}
	return m.buf.Bytes()
}

// metricWriter writes families of metrics.
type metricWriter struct {
	buf  bytes.Buffer
	open bool // OpenMetrics
}

func (m *metricWriter) family(f *series.Family) {
	name, help := f.Name, helpEscapes.Replace(f.Help)
	if m.open {
		// OpenMetrics family names.
		name, help = strings.TrimSuffix(name, "_total"), labelEscapes.Replace(f.Help)
	}
	for _, part := range []string{"# HELP ", name, " ", help, "\n# TYPE ", name, " ", string(f.Type), "\n"} {
		m.buf.WriteString(part)
	}
	for i := range f.Points {
		p := &f.Points[i]
		if f.Type != series.Histogram {
			m.line(f.Name, p.Value, f.Labels, p.Values, p.Exemplar)
			continue
		}
		names := append(f.Labels[:len(f.Labels):len(f.Labels)], "le")
		bucket := func(le string, n uint64) {
			m.line(f.Name+"_bucket", float64(n), names, append(p.Values[:len(p.Values):len(p.Values)], le), nil)
		}
		for k, n := range p.Buckets {
			bucket(number(f.Bounds[k]), n)
		}
		bucket("+Inf", p.Count)
		m.line(f.Name+"_sum", p.Value, f.Labels, p.Values, nil)
		m.line(f.Name+"_count", float64(p.Count), f.Labels, p.Values, nil)
	}
}

// line writes one metric. It writes the exemplar, if any, only in OpenMetrics; the text format has
// none.
func (m *metricWriter) line(name string, v float64, labels, values []string, e *series.Exemplar) {
	m.buf.WriteString(name)
	if len(labels) > 0 {
		for i, label := range labels {
			m.label("{,"[min(i, 1)], label, values[i])
		}
		m.buf.WriteByte('}')
	}
	m.buf.WriteByte(' ')
	m.buf.WriteString(number(v))
	if m.open && e != nil {
		m.buf.WriteString(" # ")
		if len(e.Labels) == 0 {
			m.buf.WriteByte('{')
		}
		for i, l := range e.Labels {
			m.label("{,"[min(i, 1)], l.Name, l.Value)
		}
		m.buf.WriteString("} ")
		m.buf.WriteString(number(e.Value))
		if !e.Time.IsZero() {
			m.buf.WriteByte(' ')
			m.buf.WriteString(strconv.FormatFloat(float64(e.Time.UnixMilli())/1e3, 'f', 3, 64))
		}
	}
	m.buf.WriteByte('\n')
}

func (m *metricWriter) label(before byte, name, value string) {
	m.buf.WriteByte(before)
	m.buf.WriteString(name)
	m.buf.WriteString(`="`)
	m.buf.WriteString(labelEscapes.Replace(strings.ToValidUTF8(value, "\uFFFD")))
	m.buf.WriteByte('"')
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

var (
	labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)
