package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/ledger"
)

func sampleTypes(p *profile.Profile) (types []string) {
	for _, t := range p.SampleType {
		types = append(types, t.Type+"/"+t.Unit)
	}
	return types
}

// traces is held while a trace is read.
var traces sync.Mutex

// read reads a file or a URL, whatever it is.
func (f *mergeFlags) read(ctx context.Context, std stdio, source string) (part artifact, err error) {
	in, err := findInput(std, source)
	if err != nil {
		return part, err
	}
	part, err = readInput(ctx, std, in, func(ctx context.Context, r io.Reader, head []byte) (artifact, error) {
		if isProfile(head) {
			p, err := readProfile(r, in.label)
			return artifact{kind: pprofKind, value: p, name: in.label}, err
		}
		want := f.kind
		if want == graphKind && !holdsJSON(head) {
			want = nil // of a trace that is a graph with a ledger, of which the verdict follows
		}
		if !holdsJSON(head) {
			traces.Lock() // a pass has its own concurrency, and the limit of memory is that of one
			defer traces.Unlock()
		}
		return loadArtifact(ctx, in, r, head, want, bottle.Options{Stacks: slices.Contains(f.to.asked(), "pprof")})
	})
	if err == nil && !part.kind.about().merged {
		err = usagef("%s is a %s: there is no sum of them", in.label, part.what())
	}
	return part, err
}

// fits reports whether a part can be added to what begins with first, or is the first itself.
func (a artifact) fits(first *artifact) error {
	if first.name == "" {
		return nil
	}
	if a.what() != first.what() {
		return usagef("%s is a %s, %s a %s: they cannot be merged; -kind says what to make of a trace", first.name, first.what(), a.name, a.what())
	}
	if g, ok := a.value.(*bottle.Graph); ok {
		switch f := first.value.(*bottle.Graph); {
		case g.GroupBy != f.GroupBy:
			return fmt.Errorf("%s is grouped by %s, %s by %s: they cannot be merged", first.name, f.GroupBy, a.name, g.GroupBy)
		case g.Offered != f.Offered:
			return fmt.Errorf("one of %s and %s is of offered parallelism, the other is not: they cannot be merged", first.name, a.name)
		}
	}
	return nil
}

// isProfile tells a packed profile from a packed trace.
func isProfile(head []byte) bool {
	if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		return false
	}
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return false
	}
	begin := make([]byte, len("go 1."))
	n, _ := io.ReadFull(z, begin)
	return n > 0 && !strings.HasPrefix("go 1.", string(begin[:n])) && string(begin[:n]) != "go 1."
}

// mostProfile is more than any profile for pprof that this command writes, in bytes.
const mostProfile = 1 << 30

// readProfile reads a profile for pprof. Those that others made may mean anything by their values.
func readProfile(r io.Reader, label string) (*profile.Profile, error) {
	data, err := io.ReadAll(io.LimitReader(bufio.NewReader(r), mostProfile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s: it is no profile of pprof: %w", label, err)
	}
	if !strings.HasPrefix(p.DocURL, "https://pkg.go.dev/github.com/bottleneck-go/bottleneck/") {
		return nil, usagef("%s is a profile of pprof that this program has not made; \"go tool pprof -proto\" merges those", label)
	}
	return p, nil
}

// instancesComment tells in a merged profile of how many instances it is.
const instancesComment = "instances: "

// profileInstances is how many instances a profile is about.
func profileInstances(p *profile.Profile) int {
	for _, c := range p.Comments {
		if s, ok := strings.CutPrefix(c, instancesComment); ok {
			if n, err := strconv.Atoi(s); err == nil && n > 0 {
				return n
			}
		}
	}
	return 1
}

// mergeParts adds up parts of the same kind.
func mergeParts(parts []artifact) (sum artifact, err error) {
	sum.kind = parts[0].kind
	if sum.value, err = sum.kind.sum(parts); err != nil || sum.kind != graphKind {
		return sum, err
	}
	var ledgers []*ledger.Ledger
	var waits []*contention.Profile
	for _, p := range parts {
		if p.ledger == nil {
			return sum, nil
		}
		ledgers, waits = append(ledgers, p.ledger), append(waits, p.contention)
	}
	sum.ledger, err = ledger.Merge(ledgers...)
	sum.contention = contention.Merge(waits...)
	return sum, err
}

func mergeProfiles(profiles ...*profile.Profile) (*profile.Profile, error) {
	n := 0
	for _, p := range profiles {
		n += profileInstances(p)
		p.Comments = slices.DeleteFunc(p.Comments, func(c string) bool { return strings.HasPrefix(c, instancesComment) })
	}
	sum, err := profile.Merge(profiles)
	if err != nil {
		return nil, fmt.Errorf("merging: %w", err)
	}
	sum.Comments = append(sum.Comments, instancesComment+strconv.Itoa(n))
	return sum, nil
}
