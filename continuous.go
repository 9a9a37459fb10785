package bottleneck

import "time"

// ContinuousOptions are the choices of [Continuous]. The zero value is right for most.
type ContinuousOptions struct {
	// Options are those of the analyses. Name and Progress are not used.
	Options
	// Budget is how much of the machine's processor time may be used; 0 means 0.02.
	Budget float64
	// Keep is how many windows, of about a second each, are kept for Last; 0 means 60.
	Keep int
	// MaxGroups bounds the boxes of a graph and the rows of a profile; 0 means 256.
	MaxGroups int
	// MaxPending bounds the bytes of the trace that wait to be read; 0 means 64 MB.
	MaxPending int64
}

// Continuous analyzes the running program all the time. Make one with [NewContinuous].
type Continuous struct{ opt ContinuousOptions }

// NewContinuous returns a Continuous that is not started.
func NewContinuous(opt ContinuousOptions) *Continuous { return &Continuous{opt: opt} }

// Start begins with the analysis.
func (c *Continuous) Start() error { return errNotYet }

// Stop ends the analysis; what was found can still be read.
func (c *Continuous) Stop() {}

// Enabled reports whether the analysis goes on.
func (c *Continuous) Enabled() bool { return false }

// Read returns what was found since Start, up to the last whole window.
func (c *Continuous) Read() *Live { return &Live{} }

// ReadReset returns what was found since the last ReadReset, or since Start.
func (c *Continuous) ReadReset() *Live { return &Live{} }

// Last returns what was found in the windows of the last d; if d is 0, in the last one.
func (c *Continuous) Last(d time.Duration) *Live { return &Live{} }
