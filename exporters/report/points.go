package report

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/http"

	"github.com/bottleneck-go/bottleneck/counters/query"
)

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

// servePoints answers in a binary form that a page reads without parsing: the number of points as
// uint32 and four bytes of padding; x, y, begin and goroutine as arrays of float64; row as an array
// of uint32; and the page's group as an array of int32. All are little-endian.
func (s *server) servePoints(w http.ResponseWriter, r *http.Request) {
	var q pointsQuery
	if !s.ask(w, r, &q) {
		return
	}
	body, err := s.points(r, q)
	if err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	write(w, r, body)
}

func (s *server) points(r *http.Request, q pointsQuery) ([]byte, error) {
	set, err := s.explorer.Select(r.Context(), q.Filter)
	if err != nil {
		return nil, query.InPart("filter", err)
	}
	// An invalid metric is an error even if there are too many points.
	of := set
	if n := set.Count(); n > min(q.Most, maxPoints) {
		of = query.NoRows(set.Len())
	}
	var out [2][]float64
	for i, text := range []string{q.X, q.Y} {
		if out[i], err = s.explorer.Values(r.Context(), text, of); err != nil {
			return nil, query.InPart("xy"[i:i+1], err)
		}
	}
	if of != set {
		return binary.LittleEndian.AppendUint64(nil, tooMany), nil
	}
	return s.encode(set, out[0], out[1]), nil
}

func (s *server) encode(set *query.Set, x, y []float64) []byte {
	rec := s.explorer.Recording()
	var begin, goroutine []float64
	var row []uint32
	var group []int32
	for i := range set.Rows() {
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
