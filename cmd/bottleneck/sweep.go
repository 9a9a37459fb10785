package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/result"
)

// sweeper runs a command over the values of a parameter: an environment variable, or {NAME} in the
// arguments.
type sweeper struct {
	*tasksFlags
	name   string
	values []string
	scaler *scaler
}

// sweepForms are the forms of the result.
var sweepForms = map[string]func(io.Writer, *result.Table, text.Options) error{
	"text": text.WriteTable,
	"csv":  func(w io.Writer, t *result.Table, _ text.Options) error { return text.TableCSV(w, t) },
	"md":   func(w io.Writer, t *result.Table, _ text.Options) error { return markdown.Write(w, t) },
	"json": func(w io.Writer, t *result.Table, _ text.Options) error { return json.NewEncoder(w).Encode(t) },
}

// runSweep implements -sweep.
func (f *tasksFlags) runSweep(ctx context.Context, std stdio, args []string, dash int) error {
	s := &sweeper{tasksFlags: f}
	name, list, ok := strings.Cut(f.sweep, "=")
	s.name, s.values = name, strings.Split(list, ",")
	switch {
	case !ok || name == "" || slices.Contains(s.values, "") || len(slices.Compact(slices.Sorted(slices.Values(s.values)))) < len(s.values):
		return usagef("-sweep %s: want NAME=VALUE,VALUE,… with different values", f.sweep)
	case len(args) == 0 || dash != 0:
		return usagef("-sweep wants a command after --, as in -- go test -run='^$' -bench=Sort .")
	case f.runs < 1 || f.runs > 1000:
		return usagef("-runs %d: want from 1 to 1000 runs for each value", f.runs)
	case len(f.fail.list) > 0:
		return usagef("-fail is not for -sweep")
	}
	if _, err := f.parse(std, nil); err != nil {
		return err
	}
	for _, form := range f.to.asked() {
		if sweepForms[form] == nil {
			return usagef("-sweep writes text, csv, md or json, not %s", form)
		}
	}
	temp, err := os.MkdirTemp("", "bottleneck-sweep-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	s.scaler = &scaler{flags: &scaleFlags{command: args}, std: std, temp: temp}
	points, err := s.measure(ctx)
	if err != nil {
		return err
	}
	table := points.Table(s.name)
	return f.to.write(std, func(w io.Writer, form string, d drawing) error { return sweepForms[form](w, table, d.text()) })
}

// measure runs the command for all values in turn, several times. The last run of each is traced;
// the others are, too, unless the command is a test, which prints its time.
func (s *sweeper) measure(ctx context.Context) (points granularity.SweepResult, err error) {
	targets := make([]*target, len(s.values))
	for i, value := range s.values {
		points = append(points, granularity.SweepPoint{Value: value})
		var command []string
		for _, a := range s.scaler.flags.command {
			command = append(command, strings.ReplaceAll(a, "{"+s.name+"}", value))
		}
		if targets[i], err = newTarget(command); err != nil {
			return nil, err
		}
	}
	for run := range s.runs + 1 {
		for i, t := range targets {
			p := &points[i]
			took, err := s.run(ctx, t, p, run == s.runs)
			if err != nil {
				return nil, err
			}
			if run < s.runs {
				p.Times = append(p.Times, max(took, 1))
			}
		}
	}
	points.Compare()
	return points, nil
}

// run runs the command once and returns how long it took. If tasks is set, it sets the tasks of the
// point.
func (s *sweeper) run(ctx context.Context, t *target, p *granularity.SweepPoint, tasks bool) (time.Duration, error) {
	s.scaler.env = []string{s.name + "=" + p.Value}
	if t.kind != program && !tasks {
		out, err := s.scaler.run(ctx, t.with(t.own([]string{"-count=1"}, s.scaler.temp)...), 0, nil)
		if err != nil {
			return 0, err
		}
		found := timeLine.FindAllStringSubmatch(out, -1)
		if len(found) != 1 {
			return 0, fmt.Errorf("%s: %d benchmarks have run, want one: name it with -bench%s", strings.Join(t.command, " "), len(found), outputOf(out))
		}
		ns, err := strconv.ParseFloat(found[0][1], 64)
		return time.Duration(ns), err
	}
	trace := filepath.Join(s.scaler.temp, "trace.out")
	args := []string(nil)
	if t.kind == program {
		args = t.args(0, trace, "")
	} else {
		args = t.with(t.own([]string{"-count=1", "-trace=" + trace}, s.scaler.temp)...)
	}
	if _, err := s.scaler.run(ctx, args, 0, nil); err != nil {
		return 0, err
	}
	report, err := analyzeFile(ctx, trace, "", bn.Options{Want: tasksKind.want, Tasks: s.trace})
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%s has written no trace to %s", args[0], trace)
	}
	if err != nil {
		return 0, err
	}
	took := report.Info.Duration()
	if p.Profile = report.Tasks; tasks {
		err = s.choose(p.Profile)
	}
	return took, errors.Join(err, os.Remove(trace))
}

// timeLine is the result of a benchmark.
var timeLine = regexp.MustCompile(`(?m)^Benchmark\S*\s+\d+\s+([0-9.]+) ns/op`)
