package live

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

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
	if s.Live {
		m.live(s)
		m.groups(s.Groups)
		m.contention(s.Contention)
		m.stream(s.Stream)
	}
	m.tasks(s.Tasks)
	return m.buf.Bytes()
}

// metricWriter writes families of metrics.
type metricWriter struct {
	buf  bytes.Buffer
	name string
}

// family begins the metrics of a name.
func (m *metricWriter) family(name, typ, help string) {
	m.name = name
	for _, line := range []string{"# HELP ", name, " ", escapeHelp(help), "\n# TYPE ", name, " ", typ, "\n"} {
		m.buf.WriteString(line)
	}
}

// value writes a metric of the family with its labels, name and value by turns.
func (m *metricWriter) value(v float64, labels ...string) { m.suffixed("", v, labels...) }

func (m *metricWriter) suffixed(suffix string, v float64, labels ...string) {
	m.buf.WriteString(m.name)
	m.buf.WriteString(suffix)
	for i := 0; i+1 < len(labels); i += 2 {
		m.buf.WriteByte("{,"[min(i, 1)])
		m.buf.WriteString(labels[i])
		m.buf.WriteString(`="`)
		m.buf.WriteString(escapeLabel(labels[i+1]))
		m.buf.WriteByte('"')
	}
	if len(labels) > 0 {
		m.buf.WriteByte('}')
	}
	m.buf.WriteByte(' ')
	m.buf.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	m.buf.WriteByte('\n')
}

var (
	labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

func escapeLabel(s string) string { return labelEscapes.Replace(strings.ToValidUTF8(s, "\uFFFD")) }
func escapeHelp(s string) string  { return helpEscapes.Replace(s) }

func (m *metricWriter) live(s *series.Snapshot) {
	recording := 0.0
	if s.Recording {
		recording = 1
	}
	m.family("bottleneck_recording", "gauge", "Whether the continuous analysis goes on.")
	m.value(recording)
	m.family("bottleneck_gomaxprocs", "gauge", "The largest GOMAXPROCS so far; 0 if it is not known yet.")
	m.value(float64(s.Procs))
	m.family("bottleneck_wall_seconds_total", "counter", "The time that was seen. The shares of all groups and the idle time sum to it.")
	m.value(s.Wall.Seconds())
	m.family("bottleneck_idle_seconds_total", "counter", "The time in which no goroutine ran.")
	m.value(s.Idle.Seconds())
}

func (m *metricWriter) groups(groups []series.Group) {
	each := func(name, help string, of func(*series.Group) time.Duration) {
		m.family(name, "counter", help)
		for i := range groups {
			g := &groups[i]
			m.value(of(g).Seconds(), "group", g.Name, "kind", g.Kind)
		}
	}
	each("bottleneck_share_seconds_total", "The group's share of the time: while r goroutines run, each is given 1/r of it.", func(g *series.Group) time.Duration { return g.Share })
	each("bottleneck_running_seconds_total", "The time for which the group's goroutines ran, summed. Divided by the share: the group's parallelism.", func(g *series.Group) time.Duration { return g.Running })
	each("bottleneck_runnable_seconds_total", "The time for which the group's goroutines were ready, but had no processor, summed.", func(g *series.Group) time.Duration { return g.Runnable })
	m.family("bottleneck_blocked_seconds_total", "counter", "The time for which the group's goroutines were blocked, summed, by reason.")
	for i := range groups {
		g := &groups[i]
		for _, b := range g.Blocked {
			m.value(b.Time.Seconds(), "group", g.Name, "kind", g.Kind, "reason", b.Name)
		}
	}
}

func (m *metricWriter) contention(kinds []series.Contention) {
	m.family("bottleneck_contentions_total", "counter", "How often goroutines waited for each other, by what they waited for.")
	for _, c := range kinds {
		m.value(float64(c.Contentions), "kind", c.Kind)
	}
	m.family("bottleneck_contention_wait_seconds_total", "counter", "How long they waited: while a known owner was to blame, while nobody was (hand-off), and unattributed.")
	for _, c := range kinds {
		m.value(c.Blamed.Seconds(), "kind", c.Kind, "part", "blamed")
		m.value(c.HandOff.Seconds(), "kind", c.Kind, "part", "hand-off")
		m.value(c.Unattributed.Seconds(), "kind", c.Kind, "part", "unattributed")
	}
}

func (m *metricWriter) stream(s series.Stream) {
	m.family("bottleneck_stream_generations_total", "counter", "Generations of the execution trace, of about a second each, that were analyzed.")
	m.value(float64(s.Generations))
	m.family("bottleneck_stream_bytes_total", "counter", "Bytes of the execution trace that were analyzed.")
	m.value(float64(s.Bytes))
	m.family("bottleneck_stream_cpu_seconds_total", "counter", "Processor time that the analysis took.")
	m.value(s.CPU.Seconds())
	m.family("bottleneck_stream_dropped_generations_total", "counter", "Generations that were dropped, and are in no other number: the analysis was behind or over its budget, or they were broken.")
	for _, d := range s.Dropped {
		m.value(float64(d.Generations), "reason", d.Reason)
	}
	m.family("bottleneck_stream_dropped_bytes_total", "counter", "Bytes of dropped generations.")
	for _, d := range s.Dropped {
		m.value(float64(d.Bytes), "reason", d.Reason)
	}
	m.family("bottleneck_stream_dropped_seconds_total", "counter", "The time that dropped generations were about.")
	for _, d := range s.Dropped {
		m.value(d.Time.Seconds(), "reason", d.Reason)
	}
}

func (m *metricWriter) tasks(tasks []series.Tasks) {
	if len(tasks) == 0 {
		return
	}
	m.family("bottleneck_task_cycles", "histogram", "Reference cycles that tasks execute.")
	for _, t := range tasks {
		for i, bound := range series.TaskBounds {
			m.suffixed("_bucket", float64(t.Buckets[i]), "class", t.Class, "le", strconv.FormatFloat(bound, 'g', -1, 64))
		}
		m.suffixed("_bucket", float64(t.Count), "class", t.Class, "le", "+Inf")
		m.suffixed("_sum", t.Cycles, "class", t.Class)
		m.suffixed("_count", float64(t.Count), "class", t.Class)
	}
}
