package timeline

const threadCPUClock = 16 // CLOCK_THREAD_CPUTIME_ID
