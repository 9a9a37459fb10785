package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/access"
	"github.com/bottleneck-go/bottleneck/internal/query"
)

// NewHandler returns a handler that serves the page of a recording and answers its queries about
// the quanta. The recording may be large: the server keeps the table of quanta, and the page gets
// only the data that it shows.
//
// token is a secret of at least 16 bytes that each request must carry, as "Authorization: Bearer
// TOKEN" or in a cookie. A request for the page with the parameter token=TOKEN sets the cookie.
//
// The handler is for a user of this machine. If token is "", it answers only requests from a loopback
// address with a loopback Host, so that no page of another origin can read the recording, not even
// by DNS rebinding. A proxy may hide the origin of requests: set a token if a proxy can
// reach the handler. The handler registers nothing, and serves only the paths "/", "/api/query" and
// "/api/points" below the prefix at which it is mounted with [http.StripPrefix].
//
// NewHandler returns an error if d is invalid. d must not change while the handler is in use.
func NewHandler(d *Data, token string) (http.Handler, error) {
	if d == nil {
		return nil, errNoData
	}
	form, err := newPageData(d, true)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	csp, err := writePage(&page, d, form, true)
	if err != nil {
		return nil, err
	}
	s := &server{token: access.NewToken(token, ""), page: page.Bytes(), policy: csp + "; frame-ancestors 'none'"}
	if d.Counters != nil {
		if s.explorer, err = query.NewExplorer(d.Counters); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		s.groupOf = form["counters"].(object)["groups"].([]int)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("POST /api/query", answering(s, "application/json", s.answer))
	mux.HandleFunc("POST /api/points", answering(s, "application/octet-stream", s.points))
	return s.guard(mux), nil
}

type server struct {
	token    access.Token
	page     []byte
	policy   string
	explorer *query.Explorer // nil if there are no quanta
	groupOf  []int           // the page's groups, by group of the recording
}

// guard refuses requests of others than the user of this machine, and sets all headers.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", s.policy)
		if !s.token.IsSet() {
			if err := access.Local(r); err != nil {
				refuse(w, http.StatusForbidden, err.Error())
				return
			}
		} else if admitted, err := s.token.Admit(w, r); err != nil {
			refuse(w, http.StatusForbidden, err.Error())
			return
		} else if r = admitted; r == nil {
			return // a redirect
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": message})
}

func (s *server) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	write(w, r, s.page)
}

// write sends a body, compressed if the client accepts that and it is worthwhile.
func write(w http.ResponseWriter, r *http.Request, body []byte) {
	if len(body) < 1<<13 || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
	z.Write(body)
	z.Close()
}

// maxQuestion bounds the body of a request.
const maxQuestion = 1 << 20

// answering serves the answers to questions that clients send as JSON.
func answering[Q any](s *server, contentType string, answer func(ctx context.Context, question Q) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, "want application/json")
			return
		}
		var question Q
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuestion))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&question); err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		if s.explorer == nil {
			refuse(w, http.StatusNotFound, "the recording has no quanta")
			return
		}
		body, err := answer(r.Context(), question)
		var part *query.Error
		switch {
		case err == nil:
			w.Header().Set("Content-Type", contentType)
			write(w, r, body)
		case r.Context().Err() != nil: // the client is gone
		case errors.As(err, &part):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			json.NewEncoder(w).Encode(part)
		default:
			refuse(w, http.StatusInternalServerError, err.Error())
		}
	}
}

func (s *server) answer(ctx context.Context, q query.Query) ([]byte, error) {
	a, err := s.explorer.Answer(ctx, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

// pointsQuery requests single quanta as points of a plot, unless there are more than Most.
type pointsQuery struct {
	Filter string `json:"filter"`
	X      string `json:"x"`
	Y      string `json:"y"`
	Most   int    `json:"most"`
}

// maxPoints bounds pointsQuery.Most.
const maxPoints = 200_000

// tooMany replaces the number of points if there are more than requested.
const tooMany = math.MaxUint32

// points answers in a binary form that a page reads without parsing: the number of points as
// uint32 and four bytes of padding; x, y, begin and goroutine as arrays of float64; row as an array
// of uint32; and the page's group as an array of int32. All are little-endian.
func (s *server) points(ctx context.Context, q pointsQuery) ([]byte, error) {
	rows, err := s.explorer.Select(ctx, q.Filter)
	if err != nil {
		return nil, query.InPart("filter", err)
	}
	// An invalid metric is an error even if there are too many points.
	many := len(rows) > min(q.Most, maxPoints)
	if many {
		rows = nil
	}
	var out [2][]float64
	for i, text := range []string{q.X, q.Y} {
		if out[i], err = s.explorer.Values(ctx, text, rows); err != nil {
			return nil, query.InPart("xy"[i:i+1], err)
		}
	}
	if many {
		return binary.LittleEndian.AppendUint64(nil, tooMany), nil
	}
	return s.encode(rows, out[0], out[1]), nil
}

func (s *server) encode(rows []int, x, y []float64) []byte {
	rec := s.explorer.Recording()
	var begin, goroutine []float64
	var row []uint32
	var group []int32
	for _, i := range rows {
		begin = append(begin, float64(rec.Begin[i]))
		goroutine = append(goroutine, float64(rec.Goroutine[i]))
		row = append(row, uint32(i))
		group = append(group, int32(s.groupOf[rec.Group[i]]))
	}
	var buf bytes.Buffer
	for _, part := range []any{uint32(len(row)), uint32(0), x, y, begin, goroutine, row, group} {
		binary.Write(&buf, binary.LittleEndian, part) // neither the buffer nor the types can fail
	}
	return buf.Bytes()
}
