package timeline

import (
	"bytes"
	"math"
	"time"
)

// Tail returns the end of a trace: its header and as many of the last generations as it takes to cover the time d, which is
// a trace, too. Generations take about a second each, so it covers up to that much more. Of a trace that has
// no more, that is packed, older than Go 1.22, or that cannot be read, it returns all.
//
// A recorder of the last seconds keeps as many as the longest question needs; Tail is for the shorter ones. It reads
// the heads of the batches only, some 2 µs for a megabyte, and copies what it returns unless that is all.
func Tail(trace []byte, d time.Duration) []byte {
	in, err := openInput(bytes.NewReader(trace))
	defer in.close()
	if err != nil || in.source == nil || in.compressed != "" {
		return trace
	}
	c := &cutter{src: in.source, version: in.version, pos: headerSize}
	var offsets []int64
	for {
		g, err := c.next()
		if err != nil {
			break
		}
		if g.cut != nil {
			return trace // whoever reads it should be told
		}
		offsets = append(offsets, g.off)
	}
	if len(offsets) == 0 || c.freq == 0 {
		return trace
	}
	end := latestBatch(trace, offsets[len(offsets)-1])
	keep := offsets[0]
	for _, off := range offsets[1:] {
		h, err := parseBatchHead(trace[off:])
		if err != nil || h.time > end || float64(end-h.time)/float64(c.freq) < d.Seconds() {
			break
		}
		keep = off
	}
	if keep == headerSize {
		return trace
	}
	return append(bytes.Clone(trace[:headerSize]), trace[keep:]...)
}

// latestBatch is the time at which the last batch from an offset on begins: at most that of the last event.
func latestBatch(trace []byte, off int64) (latest uint64) {
	for off < int64(len(trace)) && trace[off] != evEndOfGeneration {
		h, err := parseBatchHead(trace[off:])
		if err != nil || h.headLen+h.dataLen > math.MaxInt64-off {
			break
		}
		latest = max(latest, h.time)
		off += h.headLen + h.dataLen
	}
	return latest
}
