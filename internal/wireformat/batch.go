package wireformat

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// HeaderSize is the length of the header of a trace.
const HeaderSize = 16

const (
	// MaxHead is the largest length of the head of a batch.
	MaxHead = 2 + 4*binary.MaxVarintLen64
	// MaxBatch is the largest length of the data of a batch.
	MaxBatch = 64 << 10

	maxString = 1 << 10
	maxFrames = 128
)

// ErrCutOff reports that the input ends where more data must follow.
var ErrCutOff = errors.New("the trace is cut off")

// Head is the head of a batch.
type Head struct {
	Type             Type // EventBatch or ExperimentalBatch
	Experiment       byte
	Gen, M, Time     uint64
	HeadLen, DataLen int64
}

// ParseHead parses the batch head at the beginning of buf. It returns ErrCutOff if buf is too
// short.
func ParseHead(buf []byte) (h Head, err error) {
	i := 1
	h.Type = Type(buf[0])
	switch h.Type {
	case EventBatch:
	case ExperimentalBatch:
		if len(buf) < 2 {
			return h, ErrCutOff
		}
		h.Experiment = buf[1]
		i++
	default:
		return h, fmt.Errorf("byte %d is not the beginning of a batch of events", buf[0])
	}
	var size uint64
	for _, v := range [...]*uint64{&h.Gen, &h.M, &h.Time, &size} {
		x, n := binary.Uvarint(buf[i:])
		if n == 0 {
			return h, ErrCutOff
		}
		if n < 0 {
			return h, errors.New("a number in the head of a batch is too large")
		}
		*v = x
		i += n
	}
	if h.Gen == 0 {
		return h, errors.New("a batch belongs to generation 0, which does not exist")
	}
	if size > MaxBatch {
		return h, fmt.Errorf("a batch says it is %d bytes long; the longest are %d", size, MaxBatch)
	}
	h.HeadLen, h.DataLen = int64(i), int64(size)
	return h, nil
}
