// Command cgo records the execution trace of a small program that spends its time in C:
//
//	export CGO_ENABLED=1 GOMAXPROCS=2
//	go run -trimpath ./testdata/cgo compute testdata/small/cgo-go1.26.8.trace
//	go run -trimpath ./testdata/cgo calls testdata/small/cgocalls-go1.26.8.trace
//
// Times in C are on the thread's processor clock, so a busy machine prolongs them but never
// shortens them.
package main

/*
#include <pthread.h>
#include <time.h>

extern void back(void);

static long cpu(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec*1000000000L + t.tv_nsec;
}

// compute uses ms of processor time.
static void compute(int ms) {
	long end = cpu() + ms*1000000L;
	volatile long x = 0;
	while (cpu() < end) x++;
}

// nap waits in C.
static void nap(int ms) {
	struct timespec t = { 0, ms*1000000L };
	nanosleep(&t, 0);
}

// calls computes and calls Go, in alternation.
static void *calls(void *unused) {
	for (int i = 0; i < 5; i++) {
		compute(20);
		back();
	}
	return 0;
}

// thread does the same in a thread of C.
static void thread(void) {
	pthread_t t;
	pthread_create(&t, 0, calls, 0);
	pthread_join(t, 0);
}
*/
import "C"

import (
	"log"
	"os"
	"runtime/trace"
	"sync"
	"time"
)

// back is called from C.
//
//export back
func back() { time.Sleep(time.Millisecond) }

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: cgo compute|brief|calls FILE")
	}
	f, err := os.Create(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if err := trace.Start(f); err != nil {
		log.Fatal(err)
	}
	var wg sync.WaitGroup
	switch os.Args[1] {
	case "compute": // two goroutines, each 1 s
		wg.Add(1)
		go computing(&wg, 20)
		wg.Add(1)
		go computing(&wg, 20)
	case "brief": // each 200 ms
		wg.Add(1)
		go computing(&wg, 4)
		wg.Add(1)
		go computing(&wg, 4)
	case "calls":
		wg.Add(1)
		go calling(&wg)
		wg.Add(1)
		go threads(&wg)
		wg.Wait()
		wg.Add(1)
		go napping(&wg)
		wg.Add(1)
		go napping(&wg)
		wg.Add(1)
		go napping(&wg)
	}
	wg.Wait()
	trace.Stop()
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}

func computing(wg *sync.WaitGroup, calls int) {
	defer wg.Done()
	for range calls {
		C.compute(50)
	}
}

func calling(wg *sync.WaitGroup) {
	defer wg.Done()
	C.calls(nil)
}

func threads(wg *sync.WaitGroup) {
	defer wg.Done()
	C.thread()
}

func napping(wg *sync.WaitGroup) {
	defer wg.Done()
	C.nap(100)
}
