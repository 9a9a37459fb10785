// Locks measures what the locks of package contention cost real programs while collection
// is on: it takes public libraries whose types have a sync.Mutex or sync.RWMutex, replaces
// those by the wrappers in a copy made for the purpose, and runs the libraries' own
// benchmarks, of the original and of the copy in alternation. It does the same with the workloads
// of two of the examples.
//
//	go run ./benchmarks/locks                      # all, 192 rounds, of lru 576: 10 minutes
//	go run ./benchmarks/locks -rounds 96 -only go-cache -v
//	go run ./benchmarks/locks -waits               # is the waiting in profiles right? 1 minute
//
// The libraries come from the module cache or, if they are not there, from the module
// proxy; nothing of them is kept. Each line has the throughput of the copy as a share of
// the original's: the median over the rounds and its 95 % confidence interval, which makes
// no assumption on how rounds are distributed. The original against itself, in programs of their
// own, is in the table, too: what differs from 1 there is the machine, not the locks. Rounds are
// short and many, in all orders of the three. Programs of libraries are linked several times, with
// their functions in different orders, and each round compares two other ones. Behind the interval
// is the ratio of the best rounds: other programs can only make a round slower.
//
// The workloads of the examples keep their locks from round to round, and collection stays on: what
// a lock that has just become hot costs in its first 0.1 s, until it is sampled, is in the first
// rounds only.
package main
