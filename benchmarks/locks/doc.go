// Locks measures what the locks of package contention cost real programs while collection
// is on: it takes public libraries whose types have a sync.Mutex or sync.RWMutex, replaces
// those by the wrappers in a copy made for the purpose, and runs the libraries' own
// benchmarks, of the original and of the copy by turns. It does the same with the workloads
// of two of the examples.
//
//	go run ./benchmarks/locks                      # all, 21 rounds
//	go run ./benchmarks/locks -rounds 51 -only lru -v
//
// The libraries come from the module cache or, if they are not there, from the module
// proxy; nothing of them is kept. Each line has the throughput of the copy as a share of
// the original's: the median over the rounds and its 95 % confidence interval, which makes
// no assumption on how rounds are distributed. The original against itself is in the table,
// too: what differs from 1 there is the machine, not the locks. Programs of libraries are linked several times, with
// their functions in different orders, and each round compares two other ones. Behind the interval is the
// ratio of the best rounds: other programs can only make a round slower.
package main
