package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// WriteJSON writes the ledger as one JSON object: its exported fields, with times in nanoseconds.
func WriteJSON(w io.Writer, l *Ledger) error {
	if l == nil {
		return errors.New("ledger: no ledger")
	}
	out := *l
	if out.Rows == nil {
		out.Rows = []Row{} // never null, by which ReadJSON knows a ledger
	}
	b, err := json.MarshalIndent(&out, "", " ")
	if err != nil {
		return fmt.Errorf("ledger: writing JSON: %w", err)
	}
	if _, err := w.Write(append(format.EscapeJSON(b), '\n')); err != nil {
		return fmt.Errorf("ledger: writing JSON: %w", err)
	}
	return nil
}

// ReadJSON reads a ledger that WriteJSON wrote. It returns an error if the ledger is not valid.
func ReadJSON(r io.Reader) (*Ledger, error) {
	l := &Ledger{}
	err := json.NewDecoder(r).Decode(l)
	switch {
	case err != nil:
		err = format.ExplainJSON(err, "capacity and rows")
	case l.Rows == nil:
		err = errors.New("this is no ledger: rows is missing")
	default:
		if err := l.CheckValid(); err != nil {
			return nil, err
		}
		return l, nil
	}
	return nil, fmt.Errorf("ledger: reading JSON: %w", err)
}
