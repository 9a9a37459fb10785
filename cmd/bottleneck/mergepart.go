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
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/ledger"
)

// mergePart is one of the things to merge, or their sum: a side as diff compares them, or a profile
// of pprof.
type mergePart struct {
	diffSide
	name  string
	pprof *profile.Profile
}

// what names the kind in messages. Profiles of pprof with other sample types are of other kinds.
func (p *mergePart) what() string {
	if p.pprof == nil {
		return p.kind.what()
	}
	return "profile of pprof, of " + strings.Join(sampleTypes(p.pprof), " and ")
}

func sampleTypes(p *profile.Profile) (types []string) {
	for _, t := range p.SampleType {
		types = append(types, t.Type+"/"+t.Unit)
	}
	return types
}

// traces is held while a trace is read.
var traces sync.Mutex

// read reads a file or a URL, whatever it is.
func (f *mergeFlags) read(ctx context.Context, std stdio, source string) (part mergePart, err error) {
	in, err := findInput(std, source)
	if err != nil {
		return part, err
	}
	part, err = readInput(ctx, std, in, func(ctx context.Context, r io.Reader, head []byte) (mergePart, error) {
		if isProfile(head) {
			p, err := readProfile(r, in.label)
			return mergePart{pprof: p, name: in.label}, err
		}
		want := f.kind
		if want == graphDiff && !holdsJSON(head) {
			want = "" // of a trace that is a graph with a ledger, of which the verdict follows
		}
		if !holdsJSON(head) {
			traces.Lock() // a pass has its own concurrency, and the limit of memory is that of one
			defer traces.Unlock()
		}
		side, err := parseSide(ctx, in, r, head, want, bottle.Options{Stacks: slices.Contains(f.to.asked(), "pprof")})
		return mergePart{diffSide: side, name: in.label}, err
	})
	if err == nil && part.kind == stackDiff {
		err = usagef("%s is a speedup stack: there is no sum of them", in.label)
	}
	return part, err
}

// fits reports whether a part can be added to what begins with first, or is the first itself.
func (p *mergePart) fits(first *mergePart) error {
	switch {
	case first.name == "":
		return nil
	case p.what() != first.what():
		return usagef("%s is a %s, %s a %s: they cannot be merged; -kind says what to make of a trace", first.name, first.what(), p.name, p.what())
	case p.graph != nil && p.graph.GroupBy != first.graph.GroupBy:
		return fmt.Errorf("%s is grouped by %s, %s by %s: they cannot be merged", first.name, first.graph.GroupBy, p.name, p.graph.GroupBy)
	case p.graph != nil && p.graph.Offered != first.graph.Offered:
		return fmt.Errorf("one of %s and %s is of offered parallelism, the other is not: they cannot be merged", first.name, p.name)
	}
	return nil
}

// warn adds a warning to what a part is.
func (p *mergePart) warn(w string) {
	switch {
	case p.pprof != nil:
		p.pprof.Comments = append(p.pprof.Comments, w)
	case p.graph != nil:
		p.graph.Warnings = append(p.graph.Warnings, w)
	case p.contention != nil:
		p.contention.Warnings = append(p.contention.Warnings, w)
	case p.tasks != nil:
		p.tasks.Warnings = append(p.tasks.Warnings, w)
	case p.ledger != nil:
		p.ledger.Warnings = append(p.ledger.Warnings, w)
	}
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
func mergeParts(parts []mergePart) (sum mergePart, err error) {
	if len(parts) == 0 {
		return sum, errNothing
	}
	sum.kind = parts[0].kind
	switch {
	case parts[0].pprof != nil:
		sum.pprof, err = mergeProfiles(parts)
	case sum.kind == graphDiff:
		if sum.graph, err = bottle.Merge(collect(parts, func(p *mergePart) *bottle.Graph { return p.graph })...); err != nil {
			return sum, err
		}
		if ledgers := collect(parts, func(p *mergePart) *ledger.Ledger { return p.ledger }); !slices.Contains(ledgers, nil) {
			sum.ledger, err = ledger.Merge(ledgers...)
			sum.contention = contention.Merge(collect(parts, func(p *mergePart) *contention.Profile { return p.contention })...)
		}
	case sum.kind == contentionDiff:
		sum.contention = contention.Merge(collect(parts, func(p *mergePart) *contention.Profile { return p.contention })...)
	case sum.kind == tasksDiff:
		sum.tasks = granularity.Merge(collect(parts, func(p *mergePart) *granularity.Profile { return p.tasks })...)
	case sum.kind == ledgerDiff:
		sum.ledger, err = ledger.Merge(collect(parts, func(p *mergePart) *ledger.Ledger { return p.ledger })...)
	default:
		return sum, errNothing
	}
	return sum, err
}

func collect[P any](parts []mergePart, of func(*mergePart) P) (out []P) {
	for i := range parts {
		out = append(out, of(&parts[i]))
	}
	return out
}

func mergeProfiles(parts []mergePart) (*profile.Profile, error) {
	profiles := collect(parts, func(p *mergePart) *profile.Profile { return p.pprof })
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

// instances is how many instances a sum is about.
func (p *mergePart) instances() int {
	switch {
	case p.pprof != nil:
		return profileInstances(p.pprof)
	case p.graph != nil:
		return max(1, p.graph.Instances)
	case p.contention != nil:
		return max(1, p.contention.Instances)
	case p.ledger != nil:
		return max(1, p.ledger.Instances)
	}
	return max(1, p.tasks.Instances)
}

// writes reports whether there is a form of this kind.
func (p *mergePart) writes(form string) bool {
	switch {
	case p.pprof != nil:
		return form == "pprof"
	case p.kind == graphDiff:
		return forms[form] != nil
	case p.kind == contentionDiff:
		return contentionForms[form] != nil
	case p.kind == ledgerDiff:
		return ledgerForms[form] != nil
	}
	return tasksForms[form] != nil
}

func (p *mergePart) write(w io.Writer, form string, d drawing) error {
	switch {
	case p.pprof != nil:
		return p.pprof.Write(w)
	case p.kind == graphDiff:
		return forms[form](w, p.graph, d)
	case p.kind == contentionDiff:
		return contentionForms[form](w, p.contention, contentionDrawing{drawing: d})
	case p.kind == ledgerDiff:
		return ledgerForms[form](w, p.ledger, d)
	}
	return tasksForms[form](w, p.tasks, tasksDrawing{drawing: d})
}
