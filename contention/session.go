package contention

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Options says what to collect. The zero value is a good choice for a process that
// runs for long.
type Options struct {
	// Goroutines keeps rows of the profile apart by the ids of waiter and owner.
	// Programs that start a goroutine for each request then have very many rows.
	Goroutines bool
	// Exact records all waits and all holds of hot locks, too, which may take three quarters of
	// their throughput, rather than a random part of them. By default, some holds of less than
	// 4 µs pass unseen: to look at the clock at both ends of each takes as long as to hold a
	// lock for 50 ns.
	Exact bool
	// MaxChains, MaxLocks and MaxPairs bound the memory: the number of call chains
	// (0: 65536), of locks (0: 16384), and of rows in the profile (0: 65536). What
	// does not fit is put together and counted in Profile.Dropped. With full tables,
	// a session takes about 60 MB.
	MaxChains, MaxLocks, MaxPairs int
}

// session is one collection, from Start to Stop.
type session struct {
	table      atomic.Pointer[callstack.Table]
	goroutines bool
	exact      bool
	maxLocks   int
	maxCells   int64
	wall       int64 // when it began, in nanoseconds since 1970: a time.Time brings time zones along
	start      int64 // the same, as now tells it

	sampled atomic.Bool // some lock recorded only a part of its waits
	waited  waitedTable
	logs    logQueue
	cells   atomic.Int64  // rows in all accounts
	crowded atomic.Uint64 // times there was no room for another row

	kept sync.RWMutex // held by Snapshot against forget

	mu        sync.Mutex
	accounts  map[*lockInfo]*account
	others    *account // of locks beyond the limit
	left      uint64   // how many those are
	stop      int64    // 0 until then
	stacks    map[*callstack.Chain]*Stack
	forgotten bool
}

var (
	// current is the running session. This is the load that it takes to find that
	// collection is off.
	current atomic.Pointer[session]

	control sync.Mutex
	latest  *session // guarded by control
)

// The errors of Start and Stop.
var (
	ErrStarted    = errors.New("contention: collection is already on")
	ErrNotStarted = errors.New("contention: Stop without Start")
)

// Start begins to collect, for all locks of this package in the process. Until then
// they record nothing. What an earlier collection has found is forgotten, once a Snapshot of it
// that is being taken is done. It returns [ErrStarted] if collection is on.
func Start(o Options) error {
	control.Lock()
	defer control.Unlock()
	if current.Load() != nil {
		return ErrStarted
	}
	s := newSession(o)
	callstack.Goid() // it looks for the ids at its first call, which had better not be under a lock
	if latest != nil {
		latest.forget()
	}
	latest = s
	current.Store(s)
	return nil
}

func newSession(o Options) *session {
	s := &session{
		goroutines: o.Goroutines,
		exact:      o.Exact,
		maxLocks:   orDefault(o.MaxLocks, 1<<14),
		maxCells:   int64(orDefault(o.MaxPairs, 1<<16)),
		wall:       time.Now().UnixNano(),
		start:      now(),
		accounts:   make(map[*lockInfo]*account),
		stacks:     make(map[*callstack.Chain]*Stack),
	}
	s.table.Store(callstack.NewTable(o.MaxChains))
	return s
}

// chains are the call chains of the session.
func (s *session) chains() *callstack.Table { return s.table.Load() }

// leftover are the call chains of those who leave a lock that no goroutine has waited for since its
// session was forgotten.
var leftover lazyTable

func orDefault(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}

// Stop ends the collection. Waits that have begun are still settled when they end,
// and a later [Snapshot] has them. It returns [ErrNotStarted] if collection is off.
func Stop() error {
	control.Lock()
	defer control.Unlock()
	s := current.Load()
	if s == nil {
		return ErrNotStarted
	}
	current.Store(nil)
	s.mu.Lock()
	s.stop = now()
	s.mu.Unlock()
	s.flushLogs()
	return nil
}

// Snapshot returns what has been found since Start, or between the last Start and
// Stop. It may be called at any time, by any goroutine; recording goes on during that time.
// For what happened between two snapshots, see [Profile.Since]. It takes about 1 µs
// a row, and some µs for each call chain that was not in an earlier snapshot; and up to
// 40 ms if an owner was preempted right after it unlocked, to learn who that was.
func Snapshot() *Profile {
	control.Lock()
	s := latest
	if s != nil {
		s.kept.RLock()
		defer s.kept.RUnlock()
	}
	control.Unlock()
	if s == nil {
		return &Profile{
			Source:   FromWrappers,
			Accuracy: Exact,
			Warnings: []string{"Collection has not been started; see contention.Start."},
		}
	}
	return s.snapshot()
}

// forget lets go of what the session has found. Locks that were waited for in it point to it until
// they are waited for again, and waits that had begun in it may still end.
func (s *session) forget() {
	s.kept.Lock()
	defer s.kept.Unlock()
	s.mu.Lock()
	accounts := s.allAccounts()
	s.forgotten = true
	s.accounts, s.others = make(map[*lockInfo]*account), nil
	s.stacks = make(map[*callstack.Chain]*Stack)
	s.mu.Unlock()
	for _, a := range accounts {
		a.forget()
	}
	s.waited.slots.Store(nil)
	s.table.Store(leftover.table())
}

// allAccounts returns the accounts, in no order. The caller holds s.mu.
func (s *session) allAccounts() []*account {
	accounts := make([]*account, 0, len(s.accounts)+1)
	for _, a := range s.accounts {
		accounts = append(accounts, a)
	}
	if s.others != nil {
		accounts = append(accounts, s.others)
	}
	return accounts
}

// markSampled notes that some lock recorded only a part of its waits.
func (s *session) markSampled() {
	if !s.sampled.Load() { // the line is shared by all processors
		s.sampled.Store(true)
	}
}

// room takes the place of one more row, if there is one.
func (s *session) room() bool {
	if s.cells.Load() >= s.maxCells {
		s.crowded.Add(1)
		return false
	}
	s.cells.Add(1)
	return true
}

// accountOf returns the lock's account in the session.
func (st *state) accountOf(s *session) *account {
	a := st.account.Load()
	if a == nil || a.session != s {
		a = s.open(st.info, st.rw)
		st.account.Store(a)
	}
	return a
}

func (s *session) open(info *lockInfo, rw bool) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.accounts[info]; a != nil {
		return a
	}
	if len(s.accounts) < s.maxLocks {
		a := s.newAccount(info, rw)
		s.accounts[info] = a
		return a
	}
	s.left++
	if s.others == nil {
		info := newLockInfo()
		name := OtherLocks
		info.name.Store(&name)
		s.others = s.newAccount(info, rw)
	}
	return s.others
}

func (s *session) newAccount(info *lockInfo, rw bool) *account {
	return &account{
		session:   s,
		info:      info,
		rw:        rw,
		waits:     make(map[waitKey]*waitCell),
		pairs:     make(map[pairKey]*pairCell),
		forgotten: s.forgotten,
	}
}

// exited tells who left with e.
func (s *session) exited(r *release, chain *callstack.Chain) {
	if s.tracing() {
		s.logExit(r)
	}
	r.exit.complete(r.chunk, chain)
	s.flushLogs()
}
