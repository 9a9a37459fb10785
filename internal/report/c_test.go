package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// TestPageHasTimeInCAndPlacesOfWaits checks every box of the whole graph.
func TestPageHasTimeInCAndPlacesOfWaits(t *testing.T) {
	g, err := bottle.ReadFile(context.Background(), "../../testdata/small/cgo-go1.26.8.trace", bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := newPageData(&Data{Bottle: g}, false)
	if err != nil {
		t.Fatal(err)
	}
	page, err := pack(data)
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Bottle []bottle.Graph }
	unpack(t, page, &f)
	found := false
	for i, b := range f.Bottle[0].Boxes {
		if b.InC != g.Boxes[i].InC {
			t.Errorf("%s: in C %d, want %d", b.Group, b.InC, g.Boxes[i].InC)
		}
		if s := b.TopSite(bottle.InCode); s != nil {
			found = found || strings.HasPrefix(s.String(), "main.computing main.go:") && s.Time == b.InC
		}
	}
	if !found || !strings.Contains(strings.Join(f.Bottle[0].Warnings, " "), "C code") {
		t.Errorf("%+v", f)
	}
}

// unpack decodes the data of a page as data.js does.
func unpack(t *testing.T, packed []byte, into any) {
	t.Helper()
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	if err == nil {
		err = json.NewDecoder(z).Decode(into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
