package main

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/counters"
)

// BenchmarkCounters prints the cost of recording the default counters for the repaired service
// under full load: the ratio of the times of its requests, and half of its 95 % confidence
// interval. Rounds with and without a recording alternate, in one process with the load; the flight
// recorder is off in both.
//
//	go test -run - -bench Counters -benchtime 20x ./examples/service
func BenchmarkCounters(b *testing.B) {
	s, err := start("127.0.0.1:0", "localhost:0", repairs{cache: true, log: true}, false)
	if err != nil {
		b.Fatal(err)
	}
	s.recorder.Stop()
	l, err := newLoad(s.url, defaults.clients)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	wait := l.start(ctx)
	var logs []float64 // of the ratios
	var plain float64
	for i := range b.N + 1 {
		var rates [2]float64 // without and with a recording
		for k := range rates {
			way := (i + k) % 2
			if rates[way], err = rated(l, way == 1); err != nil {
				b.Fatal(err)
			}
		}
		if i > 0 { // the first one warms up
			logs = append(logs, math.Log(rates[0]/rates[1]))
			plain += rates[0] / float64(b.N)
		}
	}
	cancel()
	if err := wait(); err != nil {
		b.Error(err)
	}
	if err := s.stop(); err != nil {
		b.Error(err)
	}
	var mean, square float64
	for _, x := range logs {
		mean += x / float64(len(logs))
	}
	for _, x := range logs {
		square += (x - mean) * (x - mean)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(plain, "plain-requests/s")
	b.ReportMetric(math.Exp(mean), "x-time")
	if n := float64(len(logs)); n > 1 {
		b.ReportMetric(2*math.Sqrt(square/(n-1)/n), "±")
	}
}

// rated returns the number of answered requests per second, measured for a second.
func rated(l *load, recording bool) (rate float64, err error) {
	if recording {
		stop, err := counters.Start(counters.Options{})
		if err != nil {
			return 0, err
		}
		defer func() {
			err = errors.Join(err, stop(io.Discard))
		}()
	}
	time.Sleep(200 * time.Millisecond)
	began := l.count()
	time.Sleep(time.Second)
	return l.count().rate(began), nil
}
