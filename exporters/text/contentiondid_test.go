package text

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// blockedWaits is like waits, but the sweep waits for a disk most of the time.
func blockedWaits() *contention.Profile {
	p := waits()
	read := party("main.disk", "example.com/disk.Read", "main.disk")
	sweep, get := &p.Pairs[0], &p.Pairs[1]
	sweep.Running, sweep.Runnable, sweep.Blocked = 70*msec, 35*msec, map[string]time.Duration{
		contention.ChanReceiveKind: 490 * msec, contention.SyscallKind: 105 * msec,
	}
	sweep.Roots = []contention.Wait{
		{Owner: read, Kind: contention.ChanReceiveKind, Links: 1, Contentions: 30, Blamed: 490 * msec},
		{Owner: sweep.Owner, Contentions: 39, Blamed: 210 * msec},
	}
	get.Running = 150 * msec
	return p
}

func TestOwnersActivity(t *testing.T) {
	const want = `Goroutines waited 1 s in 41 contentions in 2 s: 0.50 waited at a time, on average.
95% of that is blamed on owners, 4% is hand-off (the lock was on its way to its next owner), 1% is
  unattributed. Most to blame: cache.(*LRU).Sweep, 700 ms (70%).
During the waits the owners ran for 23% of the blamed time, were ready to run for 4%, and were
  themselves blocked for 63% (chan-receive 52%, syscall 11%); what they did for 11% is not known. At
  the end of the chains of blame, most is due to disk.Read: 490 ms (49%).
By kind: mutex 900 ms (40 waits), chan-receive 100 ms (1 wait).

waited    %  contentions  run%  ready%  block%  by root-func > owner-func
490 ms  49%           30    0%      0%    100%  disk.Read
490 ms  49%           30    0%      0%    100%    cache.(*LRU).Sweep
250 ms  25%           21   60%      0%      0%  cache.(*LRU).Get
250 ms  25%           21   60%      0%      0%    cache.(*LRU).Get
210 ms  21%           39   33%     17%     50%  cache.(*LRU).Sweep
210 ms  21%           39   33%     17%     50%    cache.(*LRU).Sweep
 40 ms   4%                                     [hand-off]
 40 ms   4%                                       [hand-off]
 10 ms   1%                                     [unattributed]
 10 ms   1%                                       [unattributed]
run%, ready%, block%: part of the blamed time in which the owner ran, was ready to run, was itself
  blocked.
contentions: a wait behind several owners counts for each of them.

waited    %  contentions  longest  at once  held%  run%  ready%  block%  lock
900 ms  90%           40    90 ms        7    25%   26%      4%     70%  cache
100 ms  10%            1   100 ms        –      –     –       –       –  main.main#2
at once: most goroutines that waited at the same time; held%: part of the time in which the lock is
  known to have been held while others waited.

Warning: a �[31mhostile warning
`
	got := contentionText(t, blockedWaits(), Options{
		By: []string{contention.ByRootFunc, contention.ByOwnerFunc},
	})
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestOwnersActivityCSV(t *testing.T) {
	var b bytes.Buffer
	if err := TableCSV(&b, blockedWaits().Table()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	const want = "70000000,35000000,595000000,0,chan-receive=490000000 syscall=105000000,main.disk,example.com/disk.Read,example.com/disk.Read /src/a.go:10 < main.disk /src/a.go:20,490000000,,,,,,,,"
	if got := strings.Join(rows[1][12:], ","); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestFoldedRoots(t *testing.T) {
	const want = `main.disk;example.com/disk.Read 490000000
main.janitor;example.com/cache.(*LRU).Sweep 210000000
net/http.(*conn).serve;example.com/cache.(*LRU).Get 250000000
[hand-off] 40000000
[unattributed] 10000000
`
	var b bytes.Buffer
	if err := FoldedStacks(&b, blockedWaits(), contention.RootView); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}
