package live

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// problem is an answer that gives the reason for an error.
type problem struct {
	status int
	text   string
	retry  time.Duration // time after which to try again; 0 if unknown
	allow  string        // allowed methods
}

func (p *problem) Error() string { return p.text }

// problemOf turns an error of a collection into an answer.
func problemOf(err error) *problem {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, context.Canceled):
		// The client is gone and reads nothing, or the server is shutting down.
		return &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: "the collection was given up: the server ends, or the client has gone"}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{status: http.StatusServiceUnavailable, retry: 10 * time.Second,
			text: "the program produced more events than could be read in the time that a request may take: ask for fewer seconds"}
	}
	return &problem{status: http.StatusInternalServerError, text: format.Clean(err.Error())}
}

// header sets the headers of all answers: they must not be cached (no-store), have the stated type
// (nosniff), may not be framed by pages of other sites, and load and run nothing. The index page
// adds its own style.
func header(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", policy)
}

// policy is a content security policy that allows nothing.
const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// policyFor returns the policy that allows the style sheets of a page, by hash, and the additional
// sources in also.
func policyFor(page []byte, also string) string {
	styles := ""
	for {
		_, rest, ok := bytes.Cut(page, []byte("<style>"))
		if !ok {
			break
		}
		var style []byte
		style, page, _ = bytes.Cut(rest, []byte("</style>"))
		hash := sha256.Sum256(style)
		styles += " 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	}
	if styles != "" {
		also += "; style-src" + styles
	}
	return policy + also
}

// write answers with the problem.
func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Del("Content-Disposition")
	h.Del("Content-Encoding")
	h.Set("Content-Type", media[formText].contentType)
	h.Set("X-Go-Pprof", "1") // makes go tool pprof show the text
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retry.Seconds()))))
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	w.WriteHeader(p.status)
	fmt.Fprintln(w, p.text)
}
