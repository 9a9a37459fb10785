package counters

// Filter is a parsed filter: it denotes a set of the quanta of any recording. See [ParseFilter].
type Filter struct {
	root *node
	text string // as written
}

// ParseFilter parses a filter, such as
//
//	group =~ "worker" && duration > 100us && !(ended = preempted) && first(20, gc)
//
// The package comment describes the language. "" is all quanta. The error is a [*SyntaxError].
// Texts longer than 16 KiB, nested more than 64 deep, or with more than 500 operations are refused;
// parsing takes microseconds.
func ParseFilter(text string) (*Filter, error) {
	root, err := parse(text, func(l *lexer) *node {
		if l.space(); l.at == len(text) {
			return &node{op: opAll}
		}
		return l.filter()
	})
	if err != nil {
		return nil, err
	}
	return &Filter{root, text}, nil
}

// String returns the canonical form, which parses to the same filter (unless the text was already
// close to the bounds: the canonical form may be longer and have more parentheses).
func (f *Filter) String() string { return f.root.String() }

// Metric is a parsed metric: a number of each quantum of any recording. See [ParseMetric].
type Metric struct {
	root *node
	text string // as written
}

// ParseMetric parses a metric, such as
//
//	1000 * minor_faults / duration
//
// in the same language as filters. The error is a [*SyntaxError].
func ParseMetric(text string) (*Metric, error) {
	root, err := parse(text, (*lexer).metric)
	if err != nil {
		return nil, err
	}
	return &Metric{root, text}, nil
}

// String returns the canonical form, which parses to the same metric.
func (m *Metric) String() string { return m.root.String() }

// Quotient reports whether the metric is a quotient a/b, whose sum over quanta means nothing.
func (m *Metric) Quotient() bool { return m.root.op == opDiv }
