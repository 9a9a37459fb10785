package speedup

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

func exampleStack() *Stack {
	s := &Stack{N: 4, Speedup: 2.5, Remainder: 0.25, Warnings: []string{"<careful>"}, Disturbed: true, Runs: []float64{2, 3.5}, Workers: laneWorkers{"main.work", 4}}
	s.Components[SyncMutex], s.Components[Sequential], s.Components[GCAssist] = 1, 0.5, -0.25
	return s
}

func TestJSON(t *testing.T) {
	var buf bytes.Buffer
	s := exampleStack()
	if err := WriteJSON(&buf, s); err != nil {
		t.Fatal(err)
	}
	const want = `{"n":4,"speedup":2.5,"estimate":false,"components":{"gc-assist":-0.25,"sequential":0.5,"sync-mutex":1},"remainder":0.25,"runs":[2,3.5],"disturbed":true,"warnings":["<careful>"],"workers":{"selector":"main.work","count":4}}`
	var a, b any
	if json.Unmarshal(buf.Bytes(), &a); json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s, want %s", buf.Bytes(), want)
	}
	back, err := ReadJSON(&buf)
	if err != nil || len(back) != 1 || !reflect.DeepEqual(back[0], s) {
		t.Errorf("%+v, %v", back, err)
	}
	estimate := *s
	estimate.Estimate, estimate.Warnings = true, nil
	if err := WriteJSON(&buf, s, &estimate, s); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(buf.Bytes(), []byte("\n")); n != 3 {
		t.Errorf("%d lines", n)
	}
	if back, err := ReadJSON(&buf); err != nil || len(back) != 3 || !back[1].Estimate {
		t.Errorf("%v, %v", back, err)
	}
	var whole struct{ Stack *Stack }
	if err := json.Unmarshal([]byte(`{"Stack":`+want+`}`), &whole); err != nil || !reflect.DeepEqual(whole.Stack, s) {
		t.Errorf("%+v, %v", whole.Stack, err)
	}
}

// A name from a trace does not control the terminal.
func TestHostileJSON(t *testing.T) {
	var buf bytes.Buffer
	s := exampleStack()
	s.Workers.Selector = "main\u009b2J\u202e"
	if err := WriteJSON(&buf, s); err != nil || !strings.Contains(buf.String(), `main\u009b2J\u202e`) {
		t.Errorf("%q (%v)", &buf, err)
	}
	if back, err := ReadJSON(&buf); err != nil || !reflect.DeepEqual(back[0], s) {
		t.Errorf("read again: %v (%v)", back, err)
	}
}

func TestBadJSON(t *testing.T) {
	for input, want := range map[string]string{
		"":    "the input is empty",
		"{":   "object 1: the input ends inside the object",
		"[1]": "object 1:",
		"{}":  "this is no speedup stack",
		`{"n":2,"speedup":2}{"n":2,"remainder":1}`:                                 "object 2: the parts do not sum: they make 1, but n is 2",
		`{"n":-1,"speedup":0,"components":{},"remainder":-1}`:                      "n is out of range",
		`{"n":2,"speedup":-1,"components":{},"remainder":3}`:                       "speedup is negative",
		`{"n":2,"speedup":1,"components":{"luck":1},"remainder":0}`:                `unknown component "luck"`,
		`{"n":2,"speedup":1,"components":{"run":1},"remainder":0}`:                 "no component",
		`{"n":2,"speedup":1,"components":{"sync-mutex":0.5},"remainder":0}`:        "the parts do not sum: they make 1.5, but n is 2",
		`{"n":1,"speedup":1,"components":{},"remainder":0,"workers":{"count":-1}}`: "workers.count is negative",
		`{"n":1,"speedup":1,"components":{},"remainder":0} {"n":1}`:                "object 2",
	} {
		if s, err := ReadJSON(strings.NewReader(input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", input, s, err, want)
		}
	}
	s := exampleStack()
	s.Speedup = math.NaN()
	if err := WriteJSON(new(bytes.Buffer), s); err == nil {
		t.Error("NaN was written")
	}
}

// FuzzReadJSON: an accepted input is unchanged after writing and reading.
func FuzzReadJSON(f *testing.F) {
	testenv.BriefFuzzing(f)
	b, _ := json.Marshal(exampleStack())
	f.Add(string(b))
	f.Add(`{"n":2,"speedup":2,"components":{},"remainder":0} {"n":1,"speedup":1,"components":{},"remainder":0}`)
	f.Fuzz(func(t *testing.T, input string) {
		stacks, err := ReadJSON(strings.NewReader(input))
		if err != nil {
			return
		}
		var buf bytes.Buffer
		if err := WriteJSON(&buf, stacks...); err != nil {
			t.Fatal(err)
		}
		back, err := ReadJSON(&buf)
		if err != nil || len(back) != len(stacks) {
			t.Fatalf("%v\n%s", err, buf.String())
		}
		for i, s := range stacks {
			if back[i].N != s.N || back[i].Components != s.Components || back[i].Remainder != s.Remainder || back[i].Speedup != s.Speedup {
				t.Errorf("%+v came back as %+v", s, back[i])
			}
			s.Sentence()
			for _, c := range Delimiters() {
				s.WhatIf(c)
			}
		}
	})
}
