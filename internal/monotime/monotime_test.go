package monotime

import (
	"testing"
	"time"
)

// Readings resolve microseconds and agree with the clock of package time.
func TestNow(t *testing.T) {
	least := time.Hour
	for range 1000 {
		from := Now()
		to := Now()
		for to == from {
			to = Now()
		}
		if to < from || from <= 0 {
			t.Fatalf("%d after %d", to, from)
		}
		least = min(least, time.Duration(to-from))
	}
	if least > 10*time.Microsecond {
		t.Errorf("the clock steps by %v", least)
	}
	differ := time.Duration(0)
	for range 10 { // the goroutine may be preempted between two readings
		began, from := time.Now(), Now()
		time.Sleep(200 * time.Millisecond)
		differ = time.Since(began) - time.Duration(Now()-from)
		if differ.Abs() < 50*time.Millisecond { // package time may be behind by a step at each end
			return
		}
	}
	t.Errorf("the clocks differ by %v after 200 ms", differ)
}

func TestTime(t *testing.T) {
	for range 100 { // as above
		if d := time.Until(Time(Now())); d.Abs() < 40*time.Millisecond {
			return
		}
	}
	t.Error("the time of day of a reading is never the present time")
}

func TestNothingIsAllocated(t *testing.T) {
	if n := testing.AllocsPerRun(1000, func() { Now() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNow(b *testing.B) {
	for range b.N {
		Now()
	}
}
