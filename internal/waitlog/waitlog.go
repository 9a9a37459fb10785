// Package waitlog encodes and decodes the messages with which wrapped locks log their waits in
// execution traces.
package waitlog

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Log messages of wrapped locks, version 1
//
// While collection is on and runtime/trace records a trace, wrapped locks log in it what a trace
// does not show: which lock was waited for, and who held it when. They do so after the lock has
// been released. The analysis of the trace uses this data instead of inferring it.
//
// The messages have the category [Category]. Their fields are separated by blanks. Numbers are in
// base 36, and times in nanoseconds. The first field is the version of the format.
//
//	1 x SENT LOCK NUMBER [AGO HELD [READER PENDING]]
//	        an owner has released a lock that a goroutine waited for. The goroutine and the call
//	        chain of the message are the owner's. SENT is when it was written, LOCK the lock's
//	        number in the process, and NUMBER that of its exit. It left AGO before SENT, after
//	        it had held the lock for HELD. The writer of an rwmutex that had waited for readers
//	        began that PENDING before SENT; READER is 1 if the owner was one of these readers
//	1 w SENT LOCK KIND FLAGS WAITERS GOROUTINE START WAITED HANDOFF UNATTRIBUTED CONTENDED PARTS
//	    "NAME" "CLASS" PART…
//	        a goroutine has waited since START, by the same clock as SENT. KIND is 0 for a mutex, 1
//	        for an rwmutex to write, 2 to read; FLAGS is 1 after Cond.Wait. WAITERS are the
//	        goroutines that waited when it got the lock. CONTENDED is by how much this wait makes
//	        the time longer in which the lock was held while a goroutine waited. PARTS is how many
//	        parts the wait has
//	1 l LOCK
//	        the goroutine of the message begins to wait for a lock of package sync
//	1 p PART…
//	        more parts of the latest wait from this goroutine, if one message has no room for all
//
//	PART = NUMBER,GOROUTINE,FROM,FOR,NS,FLAGS[,COUNT]
//	        the owner that left by that exit is to blame for NS of the time that begins FROM after
//	        START and lasts FOR. FLAGS are 1: a reader; 2: a writer that was pending; 4: in Cond.Wait.
//	        With COUNT, these are the owners that left by that exit and by COUNT-1 before it. Their
//	        messages have the times for which they held the lock. The rest of NS is hand-off, but
//	        unattributed if one of these messages is missing or FLAGS has 8: an owner was not seen
//
// The NS of all parts, HANDOFF and UNATTRIBUTED sum to WAITED. A later version may begin with
// another number. A reader that does not support it skips the message, and counts it.

// Category is the category of the log messages that wrapped locks write into execution traces.
const Category = "bottleneck.lock"

const (
	// Version begins every message.
	Version = "1"
	// SyncLock is set in the number of a lock of package sync, in a program that package instrument
	// has built.
	SyncLock = 1 << 63
	// MaxOwners is the maximum number of owners of a logged wait, and MaxParts that of its parts: a
	// writer has one for the time in which it held the lock, and one for that in which it was pending.
	MaxOwners = 512
	MaxParts  = 2 * MaxOwners
	// MaxCount is the maximum number of owners of one part.
	MaxCount = 1 << 15
	// maxMessage is the length after which parts continue in another message; the runtime
	// truncates at 1024.
	maxMessage = 900
	// maxName is the maximum length of a name or class in bytes, before it is quoted.
	maxName = 100
)

// The kinds of waits.
const (
	Mutex = iota
	Writer
	Reader
	kinds
)

// Wait is a message about a wait. Times are in nanoseconds.
type Wait struct {
	Sent, Lock                               uint64
	Kind                                     uint8
	Reacquire                                bool // after Cond.Wait
	Waiters, Goroutine, Start                uint64
	Waited, HandOff, Unattributed, Contended int64
	Name, Class                              string
	Parts                                    []Part
	expected                                 int64 // number of parts
}

// Part is the part of a wait that is blamed on an owner.
type Part struct {
	Number, Goroutine uint64
	From, Length, NS  int64
	Flags             Flags
	Count             uint64 // of owners; 0 means 1
}

// Exit is a message about an owner that has left. Times are in nanoseconds.
type Exit struct {
	Sent, Lock, Number uint64
	From, To           int64 // when it held the lock; 0 if unknown
	Pending            int64 // when the writer, or that after the reader, began to wait for readers, or 0
	Reader             bool
}

// Flags describe the circumstances of an owner.
type Flags uint8

// The flags of an owner.
const (
	ReadOwner Flags = 1 << iota
	PendingWriter
	InWait
	Missed
	unknownFlag
)

// AppendNumber appends a field.
func AppendNumber(b []byte, v uint64) []byte { return strconv.AppendUint(append(b, ' '), v, 36) }

// Messages returns the wait as messages, without their beginning up to SENT.
func (w *Wait) Messages() []string {
	b := make([]byte, 0, 256)
	again := uint64(0)
	if w.Reacquire {
		again = 1
	}
	for _, v := range []uint64{
		w.Lock, uint64(w.Kind), again, w.Waiters, w.Goroutine, w.Start,
		uint64(w.Waited), uint64(w.HandOff), uint64(w.Unattributed), uint64(w.Contended), uint64(len(w.Parts)),
	} {
		b = AppendNumber(b, v)
	}
	b = strconv.AppendQuote(append(b, ' '), clip(w.Name))
	b = strconv.AppendQuote(append(b, ' '), clip(w.Class))
	var out []string
	for i := range w.Parts {
		if len(b) > maxMessage {
			out = append(out, string(b))
			b = b[:0]
		}
		p := &w.Parts[i]
		b = AppendNumber(b, p.Number)
		for _, v := range []uint64{p.Goroutine, uint64(p.From), uint64(p.Length), uint64(p.NS)} {
			b = strconv.AppendUint(append(b, ','), v, 36)
		}
		b = strconv.AppendUint(append(b, ','), uint64(p.Flags), 36)
		if p.Count > 0 {
			b = strconv.AppendUint(append(b, ','), p.Count, 36)
		}
	}
	return append(out, string(b))
}

// clip shortens a name so that it fits, quoted, into a message.
func clip(s string) string {
	if len(s) <= maxName {
		return s
	}
	n := maxName
	for n > maxName-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ErrMessage is the error for a malformed message.
var ErrMessage = errors.New("not a message about a lock")

// fields parses the fields of a message.
type fields struct {
	rest string
	bad  bool
}

func (f *fields) word() string {
	word, rest, _ := strings.Cut(f.rest, " ")
	f.rest = rest
	return word
}

func (f *fields) number() uint64 {
	v, err := strconv.ParseUint(f.word(), 36, 64)
	f.bad = f.bad || err != nil
	return v
}

// span reads a time that is small enough to be summed.
func (f *fields) span() int64 {
	v := f.number()
	if v > math.MaxInt64/4 {
		f.bad = true
		return 0
	}
	return int64(v)
}

func (f *fields) text() string {
	quoted, err := strconv.QuotedPrefix(f.rest)
	if err != nil {
		f.bad = true
		return ""
	}
	f.rest = strings.TrimPrefix(f.rest[len(quoted):], " ")
	s, err := strconv.Unquote(quoted)
	f.bad = f.bad || err != nil || len(s) > 4*maxName
	return s
}

// ParseExit parses the text after "1 x ".
func ParseExit(text string) (Exit, error) {
	f := fields{rest: text}
	x := Exit{Sent: f.number(), Lock: f.number(), Number: f.number()}
	if f.rest != "" {
		x.To = int64(x.Sent) - f.span()
		x.From = x.To - f.span()
	}
	if f.rest != "" {
		x.Reader = f.number() == 1
		x.Pending = int64(x.Sent) - f.span()
	}
	if f.bad || f.rest != "" || x.Sent > math.MaxInt64/4 || x.From < 0 || x.Pending < 0 {
		return Exit{}, ErrMessage
	}
	return x, nil
}

// ParseWait parses the text after "1 w ". More parts may have to follow.
func ParseWait(text string) (*Wait, error) {
	f := fields{rest: text}
	w := &Wait{Sent: f.number(), Lock: f.number()}
	kind, flags := f.number(), f.number()
	w.Waiters, w.Goroutine, w.Start = f.number(), f.number(), f.number()
	w.Waited, w.HandOff, w.Unattributed, w.Contended, w.expected = f.span(), f.span(), f.span(), f.span(), f.span()
	if f.bad {
		return nil, ErrMessage
	}
	w.Name, w.Class = f.text(), f.text()
	switch {
	case f.bad || kind >= kinds || flags > 1 || w.expected > MaxParts || w.Waiters > math.MaxInt32:
		return nil, ErrMessage
	case w.Sent > math.MaxInt64/4 || w.Start > math.MaxInt64/4 || w.Goroutine > math.MaxInt64:
		return nil, ErrMessage
	}
	w.Kind, w.Reacquire = uint8(kind), flags == 1
	return w, w.AddParts(f.rest)
}

// AddParts parses parts and adds them to w.
func (w *Wait) AddParts(text string) error {
	for part := range strings.FieldsSeq(text) {
		f := fields{rest: strings.ReplaceAll(part, ",", " ")}
		p := Part{Number: f.number(), Goroutine: f.number(), From: f.span(), Length: f.span(), NS: f.span()}
		flags := f.number()
		if f.rest != "" {
			p.Count = f.number()
		}
		if f.bad || f.rest != "" || flags >= uint64(unknownFlag) || p.Goroutine > math.MaxInt64 || int64(len(w.Parts)) >= w.expected || p.Count > MaxCount {
			return ErrMessage
		}
		p.Flags = Flags(flags)
		w.Parts = append(w.Parts, p)
	}
	return nil
}

// Complete reports whether w has all of its parts.
func (w *Wait) Complete() bool { return int64(len(w.Parts)) == w.expected }

// Check returns an error if a complete wait is inconsistent.
func (w *Wait) Check() error {
	left := w.Waited
	take := func(ns int64) bool {
		left -= ns
		return ns >= 0 && left >= 0
	}
	ok := take(w.HandOff) && take(w.Unattributed)
	for i := range w.Parts {
		p := &w.Parts[i]
		ok = ok && take(p.NS) && p.NS <= p.Length && p.From <= w.Waited && p.Length <= w.Waited-p.From
	}
	if !ok || left != 0 || w.Contended > w.Waited {
		return fmt.Errorf("%w: its parts do not sum to the time waited", ErrMessage)
	}
	return nil
}
