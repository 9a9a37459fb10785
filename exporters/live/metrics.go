package live

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/exporters/internal/series"
)

// metricsType is the media type of Prometheus' text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

var metricsEndpoint = endpoint{
	name:       "metrics",
	title:      "Metrics",
	about:      "Counters for Prometheus, of all that the continuous analysis has seen so far. rate(bottleneck_running_seconds_total) / rate(bottleneck_share_seconds_total) is a group's parallelism.",
	forms:      []form{formText},
	parameters: nil,
	takes:      atOnce,
	missing: func(h *handler) string {
		if h.continuous == nil && h.tasks == nil {
			return "there is nothing to count: neither live.Options.Continuous nor live.Options.Tasks is set"
		}
		return ""
	},
	collect: func(h *handler, _ context.Context, _ query) ([]byte, error) {
		return writeMetrics(h.series.Read()), nil
	},
}

// writeMetrics writes counters in Prometheus' text format.
func writeMetrics(s *series.Snapshot) []byte {
	var m metricWriter
	for _, f := range s.Families() {
		if len(f.Points) > 0 || f.Type == series.Counter {
			m.family(&f)
		}
	}
	return m.buf.Bytes()
}

// metricWriter writes families of metrics.
type metricWriter struct{ buf bytes.Buffer }

func (m *metricWriter) family(f *series.Family) {
	for _, part := range []string{"# HELP ", f.Name, " ", helpEscapes.Replace(f.Help), "\n# TYPE ", f.Name, " ", string(f.Type), "\n"} {
		m.buf.WriteString(part)
	}
	for i := range f.Points {
		p := &f.Points[i]
		if f.Type != series.Histogram {
			m.line(f.Name, p.Value, f.Labels, p.Values)
			continue
		}
		names := append(f.Labels[:len(f.Labels):len(f.Labels)], "le")
		bucket := func(le string, n uint64) {
			m.line(f.Name+"_bucket", float64(n), names, append(p.Values[:len(p.Values):len(p.Values)], le))
		}
		for k, bound := range series.TaskBounds {
			bucket(number(bound), p.Buckets[k])
		}
		bucket("+Inf", p.Count)
		m.line(f.Name+"_sum", p.Value, f.Labels, p.Values)
		m.line(f.Name+"_count", float64(p.Count), f.Labels, p.Values)
	}
}

// line writes one metric.
func (m *metricWriter) line(name string, v float64, labels, values []string) {
	m.buf.WriteString(name)
	for i, label := range labels {
		m.buf.WriteByte("{,"[min(i, 1)])
		m.buf.WriteString(label)
		m.buf.WriteString(`="`)
		m.buf.WriteString(labelEscapes.Replace(strings.ToValidUTF8(values[i], "\uFFFD")))
		m.buf.WriteByte('"')
	}
	if len(labels) > 0 {
		m.buf.WriteByte('}')
	}
	m.buf.WriteByte(' ')
	m.buf.WriteString(number(v))
	m.buf.WriteByte('\n')
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

var (
	labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)
