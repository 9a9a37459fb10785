package timeline

import (
	"bytes"
	"encoding/binary"
	"io"
)

// The runtime tells the status of a goroutine before its first event of a generation, with one
// exception: a coroutine (iter.Pull) whose first event is its end. The runtime has let go of the
// goroutine already when it writes that event (Go 1.23 to 1.26), so a Reader that begins with the
// generation meets a thread that ends a goroutine that it has not, and cannot read on. One Reader
// over the whole trace knows better, but only from the second generation on.
//
// So the status is put where it belongs, before the event. The replay knows from the generation
// before which goroutine it is. Where there was none, it gets a number that no goroutine of the
// runtime has: that one ran until then is certain.

// lostGoroutine is the number of the goroutine that a thread ran, of which only its end is known.
// The runtime counts goroutines from 1, and JavaScript numbers are exact up to twice as much.
func lostGoroutine(thread int64) int64 { return 1<<52 | thread&(1<<52-1) }

// withCoroutines returns the batches of a generation with the statuses that are missing in it; nil
// if none is. running is who ran on which thread when the generation before ended.
func withCoroutines(raw []byte, running map[int64]int64) []byte {
	var out []byte
	told := map[uint64]bool{} // threads of which it is known what they run
	kept := 0                 // up to where out has it all
	for at := 0; at < len(raw); {
		h, err := parseBatchHead(raw[at:min(at+maxBatchHead, len(raw))])
		if err != nil || h.headLen+h.dataLen > int64(len(raw)-at) {
			break // the end mark; or the trouble is another one
		}
		data := raw[at+int(h.headLen) : at+int(h.headLen+h.dataLen)]
		next := at + int(h.headLen+h.dataLen)
		if raw[at] == evEventBatch && !told[h.m] {
			var end int
			var now uint64
			if end, now, told[h.m] = untoldEnd(h, data); end >= 0 {
				m := int64(h.m)
				id, ok := running[m]
				if !ok {
					id = lostGoroutine(m)
				}
				status := []byte{evGoStatus}
				for _, v := range [...]uint64{0, uint64(id), h.m, goRunning} {
					status = binary.AppendUvarint(status, v)
				}
				out = append(out, raw[kept:at]...)
				if end > 0 {
					out = appendBatch(out, h.gen, h.m, h.time, data[:end])
				}
				out = appendBatch(out, h.gen, h.m, now, status) // a batch of its own, since the one at hand may be full
				out = appendBatch(out, h.gen, h.m, now, data[end:])
				kept = next
			}
		}
		at = next
	}
	if out == nil {
		return nil
	}
	return append(out, raw[kept:]...)
}

// untoldEnd looks for the first event that tells what a thread runs. If that is the end of a
// coroutine, it is at data[end:], after the time now; else end is −1.
func untoldEnd(h batchHead, data []byte) (end int, now uint64, told bool) {
	now = h.time
	for i := 0; i < len(data); {
		args, n := readEvent(data[i:])
		if n == 0 {
			break
		}
		switch data[i] {
		case evGoSwitchDestroy:
			return i, now, true
		case evGoStart, evGoCreateSyscall, evGoSwitch:
			return -1, now, true
		case evGoStatus, evGoStatusStack:
			if status := args[3]; status == goRunning || status == goSyscall && args[2] == h.m {
				return -1, now, true
			}
		}
		now += args[0]
		i += n
	}
	return -1, now, false
}

// appendBatch appends a batch of events.
func appendBatch(out []byte, gen, m, time uint64, data []byte) []byte {
	out = append(out, evEventBatch)
	for _, v := range [...]uint64{gen, m, time, uint64(len(data))} {
		out = binary.AppendUvarint(out, v)
	}
	return append(out, data...)
}

// runners returns which goroutine runs on which thread.
func (r *replay) runners() map[int64]int64 {
	on := map[int64]int64{}
	for id, g := range r.gs {
		if g.cur.state == Running && g.cur.thread >= 0 {
			on[g.cur.thread] = id
		}
	}
	return on
}

// decodeAgain decodes a generation that could not be read, as d says, with the statuses of
// coroutines. It returns d if that is no better.
func decodeAgain(dec decoder, d *decoded, header []byte, generation io.Reader, running map[int64]int64) *decoded {
	raw, err := io.ReadAll(generation)
	if err != nil {
		return d
	}
	mended := withCoroutines(raw, running)
	if mended == nil {
		return d
	}
	again := dec.decode(func() io.Reader { return io.MultiReader(bytes.NewReader(header), bytes.NewReader(mended)) })
	if again.err != nil && again.events <= d.events {
		again.release()
		return d
	}
	d.release()
	return again
}
