package timeline

const threadCPUClock = 3 // CLOCK_THREAD_CPUTIME_ID
