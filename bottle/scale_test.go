package bottle

import (
	"context"
	"reflect"
	"testing"
)

// TestScaleMultipliesTheGraph: a graph scaled by n is the graph of n identical programs, except
// for the number of goroutines.
func TestScaleMultipliesTheGraph(t *testing.T) {
	for _, file := range []string{"../testdata/small/phases-go1.26.8.trace", "../testdata/small/mutex-go1.26.8.trace"} {
		g, err := ReadFile(context.Background(), file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		const n = 37
		copies := make([]*Graph, n)
		for i := range copies {
			copies[i] = g
		}
		want, err := Merge(copies...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Merge(g.Scale(n))
		if err != nil {
			t.Fatal(err)
		}
		want.Instances = 0
		for i := range want.Boxes {
			want.Boxes[i].Goroutines /= n
		}
		if a, b := comparable(got), comparable(want); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: scaled\n%+v\nmerged\n%+v", file, a, b)
		}
		scaled := g.Scale(n)
		sum, lost := scaled.Idle, scaled.IdleLost
		for i := range scaled.Boxes {
			sum += scaled.Boxes[i].Share
			lost += scaled.Boxes[i].Lost
		}
		if sum != scaled.Wall || scaled.Wall != n*g.Wall || lost != scaled.Lost() {
			t.Errorf("%s: shares sum to %v of %v, %v lost of %v", file, sum, scaled.Wall, lost, scaled.Lost())
		}
		if again, err := Merge(g.Scale(1)); err != nil || !reflect.DeepEqual(comparable(again), comparable(must(Merge(g)))) {
			t.Errorf("%s: scaled by one: %+v, %v", file, again, err)
		}
	}
}

func must(g *Graph, err error) *Graph {
	if err != nil {
		panic(err)
	}
	return g
}
