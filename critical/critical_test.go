package critical

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

func profile(r *rand.Rand) *Profile {
	p := &Profile{}
	for c := range r.IntN(4) {
		path := Path{Class: fmt.Sprint("class", c), Count: r.Int64N(9), Longest: time.Duration(r.Int64N(5))}
		for i := range 1 + r.IntN(5) {
			row := Row{What: Kinds()[r.IntN(3)], Group: fmt.Sprint("g", i), Site: timeline.Place{Func: "main.f", Line: i}, Time: time.Duration(5 + r.Int64N(100))}
			path.Rows = append(path.Rows, row)
			path.Elapsed += row.Time
		}
		p.Paths = append(p.Paths, path)
	}
	p.Sort()
	return p
}

// Merge does not depend on the order, sums exactly, and fails instead of overflowing.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	merged := func(all ...*Profile) *Profile {
		p, err := Merge(all...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for range 200 {
		a, b, c := profile(r), profile(r), profile(r)
		want := merged(a, nil, b, c)
		if err := want.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if got := merged(c, merged(b, a)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v in another order, want %+v", got, want)
		}
		for i := range want.Paths {
			path, sum := &want.Paths[i], Path{}
			for _, p := range []*Profile{a, b, c} {
				for _, q := range p.Paths {
					if q.Class == path.Class {
						sum.Count, sum.Elapsed, sum.Longest = sum.Count+q.Count, sum.Elapsed+q.Elapsed, max(sum.Longest, q.Longest)
					}
				}
			}
			if path.Count != sum.Count || path.Elapsed != sum.Elapsed || path.Longest != sum.Longest {
				t.Fatalf("%+v, want %+v", path, sum)
			}
		}
	}
	if p, err := Merge(nil); err == nil {
		t.Errorf("a merge of nothing is %+v", p)
	}
	long := &Profile{Paths: []Path{{Class: "c", Elapsed: math.MaxInt64, Rows: []Row{{What: Running, Time: math.MaxInt64}}}}}
	if p, err := Merge(long, long); err == nil {
		t.Errorf("a merge that overflows is %+v", p)
	}
}

func TestJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p := profile(r)
		if p.Paths == nil {
			p.Paths = []Path{}
		}
		var b bytes.Buffer
		if err := WriteJSON(&b, p); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadJSON(&b); err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("%+v, %v; want %+v", got, err, p)
		}
	}
	for text, want := range map[string]string{
		"{}": "paths is missing",
		`{"paths":[{"class":"a","elapsed":2,"rows":[{"what":"running","time":1}]}]}`:                            "sum to 1 ns less",
		`{"paths":[{"class":"a","elapsed":2,"rows":[{"what":"running","time":3}]}]}`:                            "more than 2 ns",
		`{"paths":[{"class":"a","elapsed":2,"rows":[{"what":"running","time":-1}]}]}`:                           "negative",
		`{"paths":[{"class":"a","elapsed":2,"rows":[{"what":"flying","time":2}]}]}`:                             `unknown kind "flying"`,
		`{"paths":[{"class":"a","elapsed":2,"longest":3,"rows":[{"what":"running","time":2}]}]}`:                "invalid",
		`{"paths":[{"class":"a","count":-1,"elapsed":2,"longest":2,"rows":[{"what":"running","time":2}]}]}`:     "invalid",
		`{"paths":[{"class":"a","elapsed":2,"longest":2,"rows":[{"what":"running","time":2}]}],"instances":-1}`: "negative",
	} {
		if p, err := ReadJSON(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", text, p, err, want)
		}
	}
}
