package contention

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Log messages of wrapped locks, version 1
//
// While collection is on and the program is traced by runtime/trace, wrapped locks tell the trace
// what a trace does not show: which lock was waited for, and who held it when. They do so once a
// lock that was waited for has been released. [ReadTrace] replaces what it would have to infer by
// that.
//
// The messages have the category [LogCategory]. Their fields are separated by blanks; numbers are
// in base 36, and times in nanoseconds. The first field is the version of the format.
//
//	1 x SENT LOCK NUMBER
//	        an owner has let go of a lock that somebody waited for. Who that was, and where, is told by the goroutine and
//	        the call chain of the message. SENT is when it was written, LOCK the lock's number in the process, and
//	        NUMBER that of its exit
//	1 w SENT LOCK KIND FLAGS WAITERS GOROUTINE START WAITED HANDOFF UNATTRIBUTED CONTENDED PARTS "NAME" "CLASS" PART…
//	        a goroutine has waited since START, by the same clock as SENT. KIND is
//	        0 for a mutex, 1 for an rwmutex to write, 2 to read; FLAGS is 1 after Cond.Wait. WAITERS are
//	        the goroutines that waited when it got the lock. CONTENDED is by how much this wait makes the time longer in
//	        which the lock was held while somebody waited. PARTS is how many parts the wait has
//	1 p PART…
//	        more parts of the latest wait from this goroutine, if there is no room for all in one message
//
//	PART = NUMBER,GOROUTINE,FROM,FOR,NS,FLAGS
//	        the owner that left by that exit is to blame for NS of the time that begins FROM after START and
//	        lasts FOR. FLAGS are 1: a reader; 2: a writer that was pending; 4: in Cond.Wait
//
// The NS of all parts, HANDOFF and UNATTRIBUTED sum to WAITED. A later version may begin with
// another number; whoever does not know it leaves the message out, and counts it.

// LogCategory is the category of the log messages that wrapped locks write into execution traces.
const LogCategory = "bottleneck.lock"

const (
	logVersion = "1"
	// maxLogParts is the most parts of a wait that is told.
	maxLogParts = 512
	// maxLogMessage is the length at which parts go on in another message; the runtime cuts off
	// at 1024.
	maxLogMessage = 900
	// maxLogName is the length of a name or class in bytes, before it is quoted.
	maxLogName = 100
)

// loggedWait is a message about a wait.
type loggedWait struct {
	sent, lock                                         uint64
	kind                                               kindID
	flags                                              Flags
	waiters, goroutine, start                          uint64
	waited, handOff, unattributed, contended, expected int64
	name, class                                        string
	parts                                              []loggedPart
}

type loggedPart struct {
	number, goroutine uint64
	from, length, ns  int64
	flags             Flags
}

// The owner's flags that a part can have, in the order of their bits in the message.
var logFlags = [...]Flags{ReadOwner, PendingWriter, InWait}

func appendLog(b []byte, v uint64) []byte { return strconv.AppendUint(append(b, ' '), v, 36) }

// messages returns the wait as messages, without their beginning up to SENT.
func (w *loggedWait) messages() []string {
	b := make([]byte, 0, 256)
	for _, v := range []uint64{
		w.lock, uint64(w.kind), uint64(w.flags & Reacquire), w.waiters, w.goroutine, w.start,
		uint64(w.waited), uint64(w.handOff), uint64(w.unattributed), uint64(w.contended), uint64(len(w.parts)),
	} {
		b = appendLog(b, v)
	}
	b = strconv.AppendQuote(append(b, ' '), clipLog(w.name))
	b = strconv.AppendQuote(append(b, ' '), clipLog(w.class))
	var out []string
	for i := range w.parts {
		if len(b) > maxLogMessage {
			out = append(out, string(b))
			b = b[:0]
		}
		p := &w.parts[i]
		b = appendLog(b, p.number)
		for _, v := range []uint64{p.goroutine, uint64(p.from), uint64(p.length), uint64(p.ns)} {
			b = strconv.AppendUint(append(b, ','), v, 36)
		}
		flags := uint64(0)
		for bit, f := range logFlags {
			if p.flags&f != 0 {
				flags |= 1 << bit
			}
		}
		b = strconv.AppendUint(append(b, ','), flags, 36)
	}
	return append(out, string(b))
}

// clipLog cuts a name so that it fits, quoted, into a message.
func clipLog(s string) string {
	if len(s) > maxLogName {
		s = s[:maxLogName]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

var errLogMessage = errors.New("not a message about a lock")

// logFields takes a message apart.
type logFields struct {
	rest string
	bad  bool
}

func (f *logFields) word() string {
	word, rest, _ := strings.Cut(f.rest, " ")
	f.rest = rest
	return word
}

func (f *logFields) number() uint64 {
	v, err := strconv.ParseUint(f.word(), 36, 64)
	f.bad = f.bad || err != nil
	return v
}

// span reads a time that leaves room for sums of it.
func (f *logFields) span() int64 {
	v := f.number()
	if v > math.MaxInt64/4 {
		f.bad = true
		return 0
	}
	return int64(v)
}

func (f *logFields) text() string {
	quoted, err := strconv.QuotedPrefix(f.rest)
	if err != nil {
		f.bad = true
		return ""
	}
	f.rest = strings.TrimPrefix(f.rest[len(quoted):], " ")
	s, err := strconv.Unquote(quoted)
	f.bad = f.bad || err != nil || len(s) > 4*maxLogName
	return s
}

// parseExit parses what follows "1 x ".
func parseExit(text string) (sent, lock, number uint64, err error) {
	f := logFields{rest: text}
	sent, lock, number = f.number(), f.number(), f.number()
	if f.bad || f.rest != "" || sent > math.MaxInt64/4 {
		return 0, 0, 0, errLogMessage
	}
	return sent, lock, number, nil
}

// parseWait parses what follows "1 w ". More parts may have to follow.
func parseWait(text string) (*loggedWait, error) {
	f := logFields{rest: text}
	w := &loggedWait{sent: f.number(), lock: f.number()}
	kind, flags := f.number(), f.number()
	w.waiters, w.goroutine, w.start = f.number(), f.number(), f.number()
	w.waited, w.handOff, w.unattributed, w.contended, w.expected = f.span(), f.span(), f.span(), f.span(), f.span()
	if f.bad {
		return nil, errLogMessage
	}
	w.name, w.class = f.text(), f.text()
	switch {
	case f.bad || kind > uint64(kindReader) || flags > uint64(Reacquire) || w.expected > maxLogParts || w.waiters > math.MaxInt32:
		return nil, errLogMessage
	case w.sent > math.MaxInt64/4 || w.start > math.MaxInt64/4 || w.goroutine > math.MaxInt64:
		return nil, errLogMessage
	}
	w.kind, w.flags = kindID(kind), Flags(flags)
	return w, w.addParts(f.rest)
}

// addParts parses parts.
func (w *loggedWait) addParts(text string) error {
	for part := range strings.FieldsSeq(text) {
		f := logFields{rest: strings.ReplaceAll(part, ",", " ")}
		p := loggedPart{number: f.number(), goroutine: f.number(), from: f.span(), length: f.span(), ns: f.span()}
		flags := f.number()
		if f.bad || f.rest != "" || flags >= 1<<len(logFlags) || p.goroutine > math.MaxInt64 || int64(len(w.parts)) >= w.expected {
			return errLogMessage
		}
		for bit, flag := range logFlags {
			if flags&(1<<bit) != 0 {
				p.flags |= flag
			}
		}
		w.parts = append(w.parts, p)
	}
	return nil
}

// complete reports whether all parts are there.
func (w *loggedWait) complete() bool { return int64(len(w.parts)) == w.expected }

// check says what contradicts itself in a wait that is complete.
func (w *loggedWait) check() error {
	left := w.waited
	take := func(ns int64) bool {
		left -= ns
		return ns >= 0 && left >= 0
	}
	ok := take(w.handOff) && take(w.unattributed)
	for i := range w.parts {
		p := &w.parts[i]
		ok = ok && take(p.ns) && p.ns <= p.length && p.from <= w.waited && p.length <= w.waited-p.from
	}
	if !ok || left != 0 || w.contended > w.waited {
		return fmt.Errorf("%w: its parts do not sum to the time waited", errLogMessage)
	}
	return nil
}
