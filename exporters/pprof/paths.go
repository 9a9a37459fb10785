package pprof

import (
	"errors"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Paths returns critical paths as a profile with the sample type path/nanoseconds:
//
//	go tool pprof -http=: -tagfocus='class=[program]' paths.pb.gz
//
// The root of a stack is the class, such as "[path] main.handle". The call stack of the piece of
// the path follows, or, without [critical.Path].Stacks, its place. The leaf is the kind, such
// as "[scheduling]", unless Go code ran. The samples of a class sum to its elapsed time.
//
// Samples carry the labels class, what (the kind) and group, the goroutine that ran or waited.
//
// Like [Profile], Paths stays under 16,000 samples and 4 MB.
func Paths(p *critical.Profile, opt Options) (*profile.Profile, error) {
	if p == nil {
		return nil, errors.New("pprof: no critical paths")
	}
	var all samples
	for i := range p.Paths {
		path := &p.Paths[i]
		rows := path.Stacks
		if rows == nil {
			rows = path.Rows
		}
		for _, r := range rows {
			stack := append([]frame{pathFrame(cleanName(path.Class))}, callsOr(r.Calls, r.Site, r.Group)...)
			if r.What != critical.Running {
				stack = append(stack, partFrame(cleanName(string(r.What))))
			}
			if r.Time > 0 {
				all.add(sample{stack: stack, values: []int64{int64(r.Time)},
					labels: pathLabels(cleanName(path.Class), cleanName(string(r.What)), orNone(cleanName(r.Group)))})
			}
		}
	}
	b := newBuilder(opt, p.Whole().Elapsed, "path", [2]string{"path", "nanoseconds"})
	b.p.Comments = append([]string{"critical paths: " + format.Plural(len(p.Paths), "class", "classes") + " of tasks"}, warningComments(p.Warnings)...)
	b.sort(all.all)
	b.fill(all.all, func(s sample) sample {
		class := s.labels[0][1]
		return sample{stack: []frame{pathFrame(class), otherStacks}, labels: pathLabels(class, "[others]", "[others]")}
	}, sample{stack: []frame{{name: "[no paths]", aspect: "none"}}, labels: pathLabels("none", "none", "[none]")})
	return checked(b.p)
}

func pathFrame(class string) frame { return frame{name: "[path] " + class, aspect: "path"} }

func pathLabels(class, what, group string) [][2]string {
	return [][2]string{{"class", class}, {"what", what}, {"group", group}}
}
