package contention

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// complete is handMade with all other data that a profile can have.
func complete() *Profile {
	p := handMade()
	p.Source, p.Accuracy, p.InFlight = FromWrappers, Sampled, 3
	p.Start = time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC)
	p.Warnings = []string{"Take care."}
	p.Dropped.Chains, p.Dropped.Locks, p.Dropped.Pairs, p.Dropped.Exits = 1, 2, 3, 4
	p.Events, p.Bytes = 60, 600
	get := p.Waits[0].Waiter.Stack
	get.Truncated = true
	get.Frames[0].PC = 1<<63 + 7
	get.Frames = append(get.Frames, Frame{Func: "main.f with blanks:3", File: "C:\\Program Files\\a b.go", Line: 7}, Frame{Func: "noFile"})
	p.Locks[0].Created, p.Locks[0].Waiters, p.Locks[0].Longest = get, 9, 12
	p.Waits[0].Flags, p.Waits[0].Observed, p.Waits[0].Longest = Reacquire|Estimated, 2, 11
	p.Pairs[0].Flags = Reacquire | Estimated | ReadOwner
	p.Pairs[1].Flags = Reacquire | Estimated
	p.Pairs[1].Owner, p.Pairs[1].Longest = Party{Goroutine: 17}, 4
	q := &p.Pairs[0]
	q.Running, q.Runnable, q.Blocked = 11, 2, map[string]time.Duration{ChanReceiveKind: 9, SyscallKind: 5}
	p.Pairs[0].Roots = []Wait{
		{Owner: p.Pairs[0].Owner, Contentions: 4, Blamed: 22},
		{Owner: Party{Goroutine: 3, Group: "app.send", Stack: &Stack{Frames: []Frame{{Func: "app.Send", File: "app.go", Line: 30}}}}, Kind: ChanReceiveKind, Links: 2, Contentions: 1, Blamed: 8},
	}
	return p
}

func TestJSONForm(t *testing.T) {
	b, err := json.Marshal(complete())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	pairs := got["pairs"].([]any)
	pair := pairs[1].(map[string]any)
	const stack = `["app.Get app.go:10","main.f with blanks:3 C:\\Program Files\\a b.go:7","noFile"]`
	for _, tt := range []struct {
		what string
		got  any
		want string
	}{
		{"wait_ns", got["wait_ns"], `110`},
		{"handoff_ns", got["handoff_ns"], `7`},
		{"unattributed_ns", got["unattributed_ns"], `3`},
		{"contentions", got["contentions"], `6`},
		{"warnings", got["warnings"], `["Take care."]`},
		{"kinds", got["kinds"], `{"mutex":{"contentions":6,"ready_ns":0,"wait_ns":110}}`},
		{"kind", pair["kind"], `"mutex"`},
		{"lock", pair["lock"], `"cache"`},
		{"class", pair["class"], `"app.Cache"`},
		{"waiter_group", pair["waiter_group"], `"app.serve"`},
		{"waiter_stack", pair["waiter_stack"], stack},
		{"owner_group", pair["owner_group"], `null`},
		{"owner_goroutine", pair["owner_goroutine"], `17`},
		{"owner_group of a known one", pairs[0].(map[string]any)["owner_group"], `"app.fill"`},
		{"owner_stack of a known one", pairs[0].(map[string]any)["owner_stack"], `["app.Fill app.go:20"]`},
		{"contentions", pair["contentions"], `2`},
		{"wait_ns", pair["wait_ns"], `10`},
		{"flags", pair["flags"], `["reacquire","estimated"]`},
		{"a lock without a name", pairs[2].(map[string]any)["lock"], `"app.Log#2"`},
		{"running_ns", pairs[0].(map[string]any)["running_ns"], `11`},
		{"blocked_ns", pairs[0].(map[string]any)["blocked_ns"], `{"chan-receive":9,"syscall":5}`},
		{"roots", pair["roots"], `null`},
		{"a root", pairs[0].(map[string]any)["roots"].([]any)[1], `{"contentions":1,"kind":"chan-receive","links":2,"owner_goroutine":3,"owner_group":"app.send","owner_id":3,"owner_stack":["app.Send app.go:30"],"wait_ns":8}`},
		{"start", got["start"], `"2026-02-03T04:05:06.000000789Z"`},
	} {
		if b, _ := json.Marshal(tt.got); string(b) != tt.want {
			t.Errorf("%s is %s, want %s", tt.what, b, tt.want)
		}
	}
	if empty, _ := json.Marshal(Profile{}); strings.Contains(string(empty), "null") || bytes.Contains(b, []byte("null")) {
		t.Errorf("null in %s", empty)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	collecting(t, Options{Exact: true, Goroutines: true})
	everything()
	profiles := map[string]*Profile{"nothing": {}, "by hand": complete(), "wrappers": Snapshot()}
	for name, p := range profiles {
		var b bytes.Buffer
		if err := WriteJSON(&b, p); err != nil {
			t.Fatal(name, err)
		}
		q, err := ReadJSON(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(name, err)
		}
		var v Profile
		if err := json.Unmarshal(b.Bytes(), &v); err != nil || !reflect.DeepEqual(&v, q) {
			t.Error(name, "UnmarshalJSON gives another profile, error", err)
		}
		if !q.Start.Equal(p.Start) {
			t.Error(name, q.Start, p.Start)
		}
		want := *p
		want.Start = q.Start // times have more than one form
		want.piece = piece{}
		if !reflect.DeepEqual(q, &want) {
			t.Errorf("%s: read %+v, want %+v", name, q, p)
		}
		if name == "wrappers" && len(q.Waits) < 4 {
			t.Errorf("only %d rows", len(q.Waits))
		}
	}
}

func TestReadJSONErrors(t *testing.T) {
	good, err := json.Marshal(complete())
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for _, tt := range []struct{ in, want string }{
		{"", "the input is empty"},
		{string(good[:len(good)/2]), "the input ends inside the object"},
		{`[1]`, "expected an object with wait_ns, pairs and waits, found a JSON array"},
		{`{"wall_ns":1}`, "not a contention profile"},
		{string(good) + "{}", "unexpected data after top-level value"},
		{change(`"wait_ns":110`, `"wait_ns":"x"`), "wait_ns: expected int64, found a JSON string"},
		{change(`"wait_ns":110`, `"wait_ns":111`), "do not match the waits: want {Wait:110ns"},
		{change(`"kinds":{"mutex":{"contentions":6`, `"kinds":{"mutex":{"contentions":5`), "wait_ns and the other sums, also those in kinds"},
		{change(`"start":"2026`, `"start":"x2026`), "not a time such as"},
		{change(`"source":"wrappers"`, `"source":"hearsay"`), `source is "hearsay"`},
		{change(`"accuracy":"sampled"`, `"accuracy":"so so"`), `accuracy is "so so"`},
		{change(`"duration_ns":6`, `"duration_ns":-6`), "duration_ns is negative"},
		{change(`"kind":"mutex"`, `"kind":"mutexx"`), `pair 0: kind is "mutexx", not one of`},
		{change(`"lock_id":1`, `"lock_id":5`), "pair 0: lock_id is 5, which is not in locks"},
		{change(`"waiter_id":1`, `"waiter_id":9`), "pair 0: waiter_id is 9, but there are 3 stacks"},
		{change(`"read-owner"`, `"lazy"`), `pair 0: unknown flag "lazy"`},
		{change(`"blamed_ns":40`, `"blamed_ns":41`), "wait 0: blamed_ns, handoff_ns and unattributed_ns do not sum to wait_ns, 50"},
		{change(`"contentions":2,"wait_ns":10`, `"contentions":2,"wait_ns":11`), "wait 0: blamed_ns differs by -1ns from the sum of its pairs"},
		{change(`"contentions":4,"wait_ns":30`, `"contentions":4,"wait_ns":-30`), "pair 0: blamed_ns is negative: -30"},
		{change(`"running_ns":11`, `"running_ns":29`), "pair 0: running_ns and runnable_ns are more than wait_ns, 30"},
		{change(`"running_ns":11`, `"running_ns":-11`), "pair 0: running_ns is negative: -11"},
		{change(`"syscall":5`, `"syscall":9223372036854775807`), "pair 0: blocked_ns: a part is negative, or they sum to more than wait_ns, 30"},
		{change(`"syscall":5`, `"siesta":5`), `pair 0: blocked_ns has the kind "siesta"`},
		{change(`"runnable_ns":2`, `"handoff_ns":2`), "pair 0: handoff_ns, unattributed_ns and ready_ns must be 0 in a pair"},
		{change(`"blamed_ns":40`, `"owner_id":1,"blamed_ns":40`), "wait 0: only pairs have an owner and roots"},
		{change(`"wait_ns":22`, `"wait_ns":21`), "pair 0: roots: they sum to 29, not to wait_ns, 30"},
		{change(`"wait_ns":22`, `"wait_ns":-22`), "pair 0: root 0: blamed_ns is negative: -22"},
		{change(`"kind":"chan-receive"`, `"kind":"mutex"`), `pair 0: root 1: the owner was not blocked on "mutex" for so long`},
		{change(`"kind":"chan-receive"`, `"kind":""`), "pair 0: root 1: a root without a kind must be the owner, and unique"},
		{change(`"roots":[{"owner_group":"app.fill","owner_stack":["app.Fill app.go:20"],"owner_id":2`, `"roots":[{"owner_id":1`), "pair 0: root 0: "},
		{change(`"links":2`, `"links":-2`), "pair 0: root 1: links is negative: -2"},
		{change(`"owner_id":3`, `"owner_id":4`), "pair 0: root 1: owner_id is 4, but there are 3 stacks"},
		{change(`"locks":[{"id":1`, `"locks":[{"id":2`), `duplicate id of a lock: 2 ("")`},
		{change(`"line":10`, `"line":-10`), "lock 1: frame 0: line is negative: -10"},
		{change(`"line":20`, `"line":-20`), "stacks[1]: frame 0: line is negative: -20"},
	} {
		_, err := ReadJSON(strings.NewReader(tt.in))
		if err == nil || !strings.HasPrefix(err.Error(), "contention: reading JSON: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	p := handMade()
	p.Locks = p.Locks[:1]
	if err := WriteJSON(&bytes.Buffer{}, p); err == nil {
		t.Error("a lock that is not in Locks was written")
	}
}

// FuzzReadJSON: an accepted profile fulfills the guarantees of Profile, and is the same when
// written and read again.
func FuzzReadJSON(f *testing.F) {
	testenv.BriefFuzzing(f)
	b, err := json.Marshal(complete())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"wait_ns":0,"pairs":[],"waits":[],"locks":[],"stacks":[],"kinds":{}}`))
	f.Add([]byte(strings.Replace(string(b), "app.Get", `\u001b[2J\ud800`, -1)))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := ReadJSON(bytes.NewReader(in))
		if err != nil {
			return
		}
		checkSums(t, p)
		var out bytes.Buffer
		if err := WriteJSON(&out, p); err != nil {
			t.Fatal(err)
		}
		q, err := ReadJSON(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("%v in %s", err, out.Bytes())
		}
		var again bytes.Buffer
		if err := WriteJSON(&again, q); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
			t.Fatalf("%v\n%s\n%s", err, out.Bytes(), again.Bytes())
		}
	})
}

// checkSums checks the guarantees in the documentation of Profile.
func checkSums(t *testing.T, p *Profile) {
	t.Helper()
	blamed := map[rowKey]time.Duration{}
	for _, w := range p.Waits {
		if w.Waited != w.Blamed+w.HandOff+w.Unattributed {
			t.Fatalf("%+v does not sum", w)
		}
		blamed[w.key()] += w.Blamed
	}
	for _, q := range p.Pairs {
		blamed[q.waiterKey()] -= q.Blamed
	}
	for k, d := range blamed {
		if d != 0 {
			t.Fatalf("the pairs of %+v differ by %v", k, d)
		}
	}
	for _, v := range Views {
		waited, _, _, _ := totals(p)
		for _, q := range p.Samples(v) {
			if q.Owner.Group != ReadyKey {
				waited -= q.Blamed
			}
		}
		if waited != 0 {
			t.Fatalf("samples of the view %s differ by %v from the waiting time", v, waited)
		}
	}
}

func TestSamples(t *testing.T) {
	for _, tt := range []struct {
		view string
		want string
	}{
		{OwnerView, `app.Fill 30ns 4 from app.serve to app.fill
app.Get 10ns 2 from app.serve to app.serve
app.Fill 60ns 1 from app.serve to app.fill
[hand-off]* 7ns 0 from app.serve to [hand-off]
[unattributed]* 3ns 0 from app.serve to [unattributed]`},
		{WaiterView, `app.Get 50ns 5 from app.serve
app.Get 60ns 1 from app.serve`},
		{JoinedView, `app.Get [lock] cache* [held by]* app.Fill 30ns 4 from app.serve to app.fill
app.Get [lock] cache* [held by]* app.Get 10ns 2 from app.serve to app.serve
app.Get [lock] app.Log* [held by]* app.Fill 60ns 1 from app.serve to app.fill
app.Get [lock] cache* [hand-off]* 7ns 0 from app.serve to [hand-off]
app.Get [lock] cache* [unattributed]* 3ns 0 from app.serve to [unattributed]`},
	} {
		var lines []string
		for stack, q := range handMade().Samples(tt.view) {
			line := ""
			for _, f := range stack {
				line += f.Func
				if f.Aspect != "" {
					line += "*"
				}
				line += " "
			}
			line += fmt.Sprintf("%v %d from %s", q.Blamed, q.Contentions, q.Waiter.Group)
			if q.Owner.Group != "" {
				line += " to " + q.Owner.Group
			}
			lines = append(lines, line)
		}
		if got := strings.Join(lines, "\n"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.view, got, tt.want)
		}
	}
	if CheckView("sideways") == nil {
		t.Error("no error for a view that there is not")
	}
}

func TestFilter(t *testing.T) {
	p := complete()
	for _, tt := range []struct {
		kinds                  []string
		focus                  string
		least                  time.Duration
		waited                 time.Duration
		contentions            int64
		waits, pairs, locks    int
		handOff, notAttributed time.Duration
	}{
		{nil, "", 0, 110, 6, 2, 3, 2, 7, 3},
		{[]string{CondKind}, "", 0, 0, 0, 0, 0, 0, 0, 0},
		{[]string{CondKind, MutexKind}, "", 0, 110, 6, 2, 3, 2, 7, 3},
		{nil, `Cache$`, 0, 50, 5, 1, 2, 1, 7, 3},
		{nil, `\.Fill`, 0, 90, 5, 2, 2, 2, 0, 0}, // owners only: only their part of the wait remains
		{nil, `serve`, 0, 110, 6, 2, 3, 2, 7, 3},
		{nil, "", 5, 107, 6, 2, 3, 2, 7, 0},
		{nil, "", 60, 60, 1, 1, 1, 1, 0, 0},
		{nil, `nothing`, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		var focus *regexp.Regexp
		if tt.focus != "" {
			focus = regexp.MustCompile(tt.focus)
		}
		q := p.Filter(tt.kinds, focus, tt.least)
		checkSums(t, q)
		if all := tt.kinds == nil && focus == nil && tt.least == 0; (q.Events == 60 && q.Bytes == 600) != all || (q.Events == 0 && q.Bytes == 0) == all {
			t.Errorf("%+v: %d events, %d bytes", tt, q.Events, q.Bytes)
		}
		waited, _, handOff, unattributed := totals(q)
		contentions := int64(0)
		for _, w := range q.Waits {
			contentions += w.Contentions
		}
		if waited != tt.waited || contentions != tt.contentions || len(q.Waits) != tt.waits || len(q.Pairs) != tt.pairs ||
			len(q.Locks) != tt.locks || handOff != tt.handOff || unattributed != tt.notAttributed {
			t.Errorf("%+v: waited %v, %d contentions, %d waits, %d pairs, %d locks, hand-off %v, unattributed %v",
				tt, waited, contentions, len(q.Waits), len(q.Pairs), len(q.Locks), handOff, unattributed)
		}
		if _, err := q.MarshalJSON(); err != nil {
			t.Error(err)
		}
	}
	if !reflect.DeepEqual(p, complete()) {
		t.Error("the filtered profile was changed")
	}
	byHand := slices.Collect(maps.Keys(map[string]bool{MutexKind: true}))
	if q := p.Filter(byHand, nil, 0); len(q.Warnings) != 1 {
		t.Errorf("warnings %q", q.Warnings)
	}
}
