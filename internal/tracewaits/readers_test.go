package tracewaits

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/contention"
)

// reads expands RLock and RUnlock.
var reads = strings.NewReplacer("RL:", "sync.(*RWMutex).RLock < main.", "RU:", "sync.(*RWMutex).RUnlock < main.",
	"WL:", "sync.(*RWMutex).Lock < main.", "WU:", "sync.(*RWMutex).Unlock < main.")

// lesson makes the pass learn that r has the lock between lines 20 and 30: 5 waits for it in the
// former, and is the last to release it in the latter.
const lesson = `
	10 5 blocks rwmutex-reader in RL:r:20
	20 1 wakes 5 in WU:w:12
	20 5 runs
	30 2 blocks rwmutex-writer in WL:w:10
	40 5 wakes 2 in RU:r:30
	40 2 runs
`

// TestTraceReaders: a writer waits for several readers.
func TestTraceReaders(t *testing.T) {
	for _, tt := range []struct{ what, script, want string }{
		// The trace is the same whether 6 has the lock until 199 or released it long ago. 7
		// sleeps elsewhere.
		{"of who only runs, or is elsewhere, nothing is known: the last one has it all", `
			50 6 stops in main.z:1
			60 6 runs
			100 7 blocks sleep in time.Sleep < main.z:25
			100 2 blocks rwmutex-writer in WL:w:10
			180 0 wakes 7
			180 7 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 110 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 110 of 2 [read-owner]`},

		// 6 came before 2, and was seen with the lock until 160. In the lesson, 5 was
		// blamed for 10 µs.
		{"a reader that sleeps with the lock shares the blame until it runs again", `
			90 6 blocks sleep in time.Sleep < main.work:3 < main.r:25
			100 2 blocks rwmutex-writer in WL:w:10
			158 0 wakes 6
			160 6 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 110 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 80 of 2 [read-owner]
			|  g6 main.r:30: 30 of 1 [read-owner]`},

		// 6 is seen at 120 first, but no reader was admitted after 100.
		{"it had the lock before the writer came", `
			100 2 blocks rwmutex-writer in WL:w:10
			120 6 stops in main.r:26
			140 6 runs
			150 7 blocks chan-receive in runtime.chanrecv1 < main.z:1
			160 8 wakes 7 in runtime.chansend1 < main.r:28
			160 7 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 110 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 73 of 2 [read-owner]
			|  g8 main.r:30: 23 of 1 [read-owner]
			|  g6 main.r:30: 13 of 1 [read-owner]`},

		// Unlock gave 6 and 7 the lock, but another reader that runs first takes the token
		// of one of them, without an event. From 130 on, when both have run, 5 certainly
		// has the lock.
		{"readers that were woken and do not run yet may let another one in", `
			60 6 blocks rwmutex-reader in RL:r:20
			61 7 blocks rwmutex-reader in RL:r:20
			70 2 wakes 6 in WU:w:12
			70 2 wakes 7 in WU:w:12
			100 2 blocks rwmutex-writer in WL:w:10
			120 6 runs
			130 7 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 80 + hand-off 0 + unattributed 30; ready 0
			|  g5 main.r:30: 80 of 2 [read-owner]`},

		// 5 usually has the lock for 20 µs.
		{"while they do not run, a reader had the lock for as long as is usual", `
			60 6 blocks rwmutex-reader in RL:r:20
			70 2 wakes 6 in WU:w:12
			100 2 blocks rwmutex-writer in WL:w:10
			200 5 wakes 2 in RU:r:30
			200 2 runs
			210 6 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 30 + hand-off 0 + unattributed 80; ready 0
			|  g5 main.r:30: 30 of 2 [read-owner]`},

		{"the line of RLock itself is not inside, and neither is that of RUnlock", `
			90 6 blocks sleep in time.Sleep < main.r:20
			95 7 blocks sleep in time.Sleep < main.r:30
			100 2 blocks rwmutex-writer in WL:w:10
			150 0 wakes 6
			150 6 runs
			160 0 wakes 7
			160 7 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 110 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 110 of 2 [read-owner]`},

		{"neither is what another caller reached", `
			90 6 blocks sleep in time.Sleep < main.r:25 < main.other:1
			100 2 blocks rwmutex-writer in WL:w:10
			150 0 wakes 6
			150 6 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 110 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 110 of 2 [read-owner]`},

		// From 50 on, no goroutine waited for 6. It is not blamed for the time until 100;
		// it may have left by then.
		{"who was seen before the writer came is not to blame", `
			50 6 blocks sleep in time.Sleep < main.r:25
			90 0 wakes 6
			95 6 runs
			100 2 blocks rwmutex-writer in WL:w:10
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 110 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 110 of 2 [read-owner]`},

		// 3 waits from 110 on, behind the writer 2, which came at 100, and the readers 5
		// and 6: until 160 each has a third of the blame.
		{"who waits behind the pending writer waits for all of them", `
			90 6 blocks sleep in time.Sleep < main.r:25
			100 2 blocks rwmutex-writer in WL:w:10
			110 3 blocks rwmutex-reader in RL:x:40
			155 0 wakes 6
			160 6 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			240 2 wakes 3 in WU:w:12
			240 3 runs
			300 ends`, `
			|rwmutex-reader #1 g3 main.x:40: 1 waited 130 = blamed 130 + hand-off 0 + unattributed 0; ready 0
			|  g2 main.w:12: 40 of 1
			|  g5 main.r:30: 36 of 1 [read-owner]
			|  g2 main.w:12: 36 of 1 [pending-writer]
			|  g6 main.r:30: 16 of 1 [read-owner]
			|rwmutex-writer #1 g2 main.w:10: 2 waited 110 = blamed 110 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 80 of 2 [read-owner]
			|  g6 main.r:30: 30 of 1 [read-owner]`},

		// 6 and 2 have different locks of this code: 6 is there before 2 acquires its lock
		// and after it.
		{"a goroutine there while a writer acquires the lock has another lock or none: the place identifies nothing any more", `
			50 6 blocks sleep in time.Sleep < main.r:25
			60 2 blocks rwmutex-writer in WL:w:10
			70 5 wakes 2 in RU:r:30
			70 2 runs
			95 0 wakes 6
			95 6 runs
			100 7 blocks sleep in time.Sleep < main.r:25
			110 2 blocks rwmutex-writer in WL:w:10
			150 0 wakes 7
			150 7 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 3 waited 110 = blamed 110 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 110 of 3 [read-owner]`},

		// An error makes r return from line 23; 6 sleeps only after that.
		{"an early RUnlock: what comes after it is not inside", `
			60 8 blocks rwmutex-reader in RL:r:20
			65 1 wakes 8 in WU:w:12
			65 8 runs
			70 2 blocks rwmutex-writer in WL:w:10
			80 8 wakes 2 in RU:r:23
			80 2 runs
			90 6 blocks sleep in time.Sleep < main.r:24
			100 2 blocks rwmutex-writer in WL:w:10
			150 0 wakes 6
			150 6 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 3 waited 120 = blamed 120 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 110 of 2 [read-owner]
			|  g8 main.r:23: 10 of 1 [read-owner]`},

		{"methods that lock for others", `
			60 8 blocks rwmutex-reader in RL:(*T).lock:1 < main.q:5
			65 1 wakes 8 in WU:w:12
			65 8 runs
			70 2 blocks rwmutex-writer in WL:w:10
			80 8 wakes 2 in RU:(*T).unlock:2 < main.q:9
			80 2 runs
			90 6 blocks sleep in time.Sleep < main.q:7
			100 2 blocks rwmutex-writer in WL:w:10
			150 0 wakes 6
			150 6 runs
			200 5 wakes 2 in RU:r:30
			200 2 runs
			300 ends`, `
			|rwmutex-writer #1 g2 main.w:10: 3 waited 120 = blamed 120 + hand-off 0 + unattributed 0; ready 0
			|  g5 main.r:30: 85 of 2 [read-owner]
			|  g6 main.(*T).unlock:2: 25 of 1 [read-owner]
			|  g8 main.(*T).unlock:2: 10 of 1 [read-owner]`},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := play(t, Options{Goroutines: true}, reads.Replace(lesson+tt.script))
			if got, want := only(profileText(p), "rwmutex-writer", "rwmutex-reader #1 g3"), lines(tt.want); got != want {
				t.Errorf("\n got\n%s\n want\n%s", got, want)
			}
		})
	}
}

// only keeps the rows that begin with one of the words.
func only(text string, words ...string) string {
	var b strings.Builder
	keep := false
	for _, line := range strings.SplitAfter(text, "\n") {
		if !strings.HasPrefix(line, " ") {
			keep = slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(line, w) })
		}
		if keep {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestTraceReadersRoots: 9 waits for the writer, which waits for two readers. Each reader is the
// root for half of the time in which both have the lock.
func TestTraceReadersRoots(t *testing.T) {
	p := play(t, Options{}, reads.Replace(lesson+`
		90 6 blocks sleep in time.Sleep < main.r:25
		100 2 blocks rwmutex-writer in WL:w:10
		100 9 blocks chan-receive in runtime.chanrecv1 < main.c:1
		160 0 wakes 6
		160 6 runs
		200 5 wakes 2 in RU:r:30
		200 2 runs
		220 2 wakes 9 in runtime.chansend1 < main.w:13
		220 9 runs
		300 ends`))
	for _, q := range p.Pairs {
		if q.Kind != contention.ChanReceiveKind {
			continue
		}
		got := map[string]int64{}
		for _, r := range q.Roots {
			got[fmt.Sprint(party(r.Owner), " ", r.Links)] += us(r.Blamed)
		}
		// The readers have the same call chain, and are not counted separately here.
		if len(got) != 2 || got["main.r:30 1"] != 100 || got["main.w:13 0"] != 20 {
			t.Errorf("the roots are %v", got)
		}
		return
	}
	t.Error("no wait for the channel")
}

// TestTraceReadersAreBounded: only the latest readers are kept, however many were seen, and a few
// share an entry.
func TestTraceReadersAreBounded(t *testing.T) {
	s := newScript(t, Options{Goroutines: true})
	s.play(reads.Replace(lesson))
	const n = 3 * maxSeenReaders
	for i := range n {
		s.play(fmt.Sprintf("%d %d stops in main.r:25", 50, 100+i))
	}
	s.play(reads.Replace("100 2 blocks rwmutex-writer in WL:w:10"))
	for i := range n {
		s.play(fmt.Sprintf("%d %d runs", 150, 100+i))
	}
	for k := range s.o.rows.rows {
		if l := k.lock.root(); len(l.readers) > maxSeenReaders {
			t.Errorf("%d readers are remembered", len(l.readers))
		}
	}
	s.play(reads.Replace("200 5 wakes 2 in RU:r:30\n200 2 runs\n300 ends"))
	p := s.o.Profile()
	checkConservation(t, p)
	owners := 0
	for _, q := range p.Pairs {
		if q.Kind == contention.RWMutexWriterKind {
			owners++
		}
	}
	if owners != 1+maxSharers {
		t.Errorf("%d readers share the blame, want %d", owners, 1+maxSharers)
	}
	for k := range s.o.rows.rows {
		if n := len(k.lock.root().readers); n > 0 {
			t.Errorf("%d readers are remembered after the writer was woken", n)
		}
	}
}
