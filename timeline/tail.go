package timeline

import (
	"bytes"
	"context"
	"io"
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// Tail returns the end of a trace: its header and as many of the last generations as it takes to
// cover the time d, which is a trace, too. Generations take about a second each, so it covers up to
// that much more. Of a trace that has no more, that is packed, older than Go 1.22, or that cannot
// be read, it returns all.
//
// A recorder of the last seconds keeps as many as the longest question needs; Tail is for the
// shorter ones. It reads the heads of the batches only, some 2 µs for a megabyte, and copies what
// it returns unless that is all.
func Tail(trace []byte, d time.Duration) []byte {
	keep, _ := tailOf(bytes.NewReader(trace), d)
	if keep <= headerSize {
		return trace
	}
	return append(bytes.Clone(trace[:headerSize]), trace[keep:]...)
}

// TailOffset returns where the generations of [Tail] begin: what is between the 16 bytes of the
// header and that offset can be left out.
func TailOffset(trace *io.SectionReader, d time.Duration) int64 {
	keep, _ := tailOf(trace, d)
	return keep
}

// sizedReader is a trace with random access.
type sizedReader interface {
	io.Reader
	sized
}

// tailOf returns where the last generations begin that cover the time d, and where the very last
// one does. Both are headerSize where they are not known.
func tailOf(trace sizedReader, d time.Duration) (keep, last int64) {
	in, err := openInput(trace, formats{})
	defer in.close()
	if err != nil || in.source == nil || in.compressed != "" {
		return headerSize, headerSize
	}
	c := &cutter{src: in.source, version: in.version, pos: headerSize}
	var offsets []int64
	for {
		g, err := c.next()
		if err != nil {
			break
		}
		if g.cut != nil {
			return headerSize, headerSize // the reader of the trace reports that
		}
		offsets = append(offsets, g.off)
	}
	if len(offsets) == 0 || c.freq == 0 {
		return headerSize, headerSize
	}
	keep, last = offsets[0], offsets[len(offsets)-1]
	end := latestBatch(in.source, last)
	for _, off := range offsets[1:] {
		head, err := in.source.head(off)
		if err != nil || len(head) == 0 {
			break
		}
		h, err := wireformat.ParseHead(head)
		if err != nil || h.Time > end || float64(end-h.Time)/float64(c.freq) < d.Seconds() {
			break
		}
		keep = off
	}
	return keep, last
}

// latestBatch is the time at which the last batch from an offset on begins: at most that of the
// last event.
func latestBatch(src source, off int64) (latest uint64) {
	for {
		head, err := src.head(off)
		if err != nil || len(head) == 0 || head[0] == evEndOfGeneration {
			return latest
		}
		h, err := wireformat.ParseHead(head)
		if err != nil || h.HeadLen+h.DataLen > math.MaxInt64-off {
			return latest
		}
		latest = max(latest, h.Time)
		off += h.HeadLen + h.DataLen
	}
}

// ReadLast replays the last d of a trace to observers, who see a trace that begins then, with every
// goroutine in the state that it really was in. Unlike [ReadTwice] it keeps no events: it decodes
// the last generation first, to find the end, and then the generations that cover d. The memory is
// that of one generation for each of Options.Workers. Of a trace that is broken, events are kept
// all the same. A packed one, or one of before Go 1.22, is an error.
func ReadLast(ctx context.Context, trace *io.SectionReader, opt Options, d time.Duration, observers []Observer) (*Info, error) {
	keep, last := tailOf(trace, d)
	if last > headerSize {
		end := opt
		end.Progress = nil
		info, err := readTwice(ctx, without(trace, last), end, formats{}, 0, nil, nil)
		if err == nil && info.Generations > 0 {
			p, err := open(ctx, without(trace, keep), opt, formats{}, nil)
			if p.in != nil {
				defer p.in.close()
			}
			if err != nil {
				return &p.replay.info, err
			}
			p.joinAt(Second{From: max(0, info.End-Time(d)), Observers: observers})
			err = p.all()
			return &p.replay.info, err
		}
	}
	return ReadSnapshot(ctx, trace, opt, nil, func(info *Info) Second {
		return Second{From: max(info.Start, info.End-Time(d)), Observers: observers}
	})
}

// without returns a trace without what is between its header and an offset.
func without(trace *io.SectionReader, off int64) *io.SectionReader {
	left := off - headerSize
	return io.NewSectionReader(&shortened{trace, left}, 0, trace.Size()-left)
}

// shortened is a trace of which some bytes after the header are left out.
type shortened struct {
	trace io.ReaderAt
	left  int64
}

func (s *shortened) ReadAt(p []byte, off int64) (n int, err error) {
	if off < headerSize {
		part := p[:min(int64(len(p)), headerSize-off)]
		if n, err = s.trace.ReadAt(part, off); err != nil || n == len(p) {
			return n, err
		}
		p, off = p[n:], headerSize
	}
	k, err := s.trace.ReadAt(p, off+s.left)
	return n + k, err
}
