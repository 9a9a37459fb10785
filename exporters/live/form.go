package live

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// form is a format of an answer.
type form string

// The formats, as in ?format=.
const (
	formSVG   form = "svg"
	formPNG   form = "png"
	formText  form = "text"
	formJSON  form = "json"
	formPprof form = "pprof"
	formTrace form = "trace"
)

// media has the media type of each format, the extension of the files that a browser saves, and the
// media types that select the format. A browser that opens an address requests HTML: it gets the
// picture, or text if there is none.
var media = map[form]struct {
	contentType, extension string
	asked                  []string
}{
	formSVG:   {"image/svg+xml; charset=utf-8", "", []string{"image/svg+xml", "text/html", "application/xhtml+xml"}},
	formPNG:   {"image/png", "", []string{"image/png"}},
	formText:  {"text/plain; charset=utf-8", "", []string{"text/plain"}},
	formJSON:  {"application/json; charset=utf-8", "", []string{"application/json"}},
	formPprof: {"application/octet-stream", ".pb.gz", []string{"application/octet-stream", "application/vnd.google.protobuf", "application/x-protobuf"}},
	formTrace: {"application/octet-stream", ".trace", []string{"application/octet-stream"}},
}

// choose selects a format by the request's Accept header; it returns false if none is acceptable.
//
// A client that sends no such header is a program, such as go tool pprof or a scraper of profiles,
// and gets a profile if there is one. A client that accepts anything, such as curl, gets text.
func choose(header http.Header, forms []form) (form, bool) {
	ranges := qualities(header.Values("Accept"))
	maps.DeleteFunc(ranges, func(media string, _ float64) bool { return !strings.Contains(media, "/") })
	if len(ranges) == 0 {
		return preferred(forms, formPprof, formText), true
	}
	best, most, exact := form(""), 0.0, 0
	// Text first, for clients that accept anything.
	for _, f := range append([]form{preferred(forms, formText)}, forms...) {
		asked := media[f].asked
		if f == formText && !slices.Contains(forms, formSVG) {
			asked = append([]string{"text/html"}, asked...) // a browser gets text, because there is no picture
		}
		for _, m := range asked {
			family, _, _ := strings.Cut(m, "/")
			for exactness, name := range []string{m, family + "/*", "*/*"} {
				q, named := ranges[name]
				if named && (q > most || q == most && q > 0 && -exactness > exact) {
					best, most, exact = f, q, -exactness
				}
				if named {
					break // the most specific range applies
				}
			}
		}
	}
	return best, best != ""
}

// preferred returns the first of the favorites that is among the forms, or else the first form.
func preferred(forms []form, favorites ...form) form {
	for _, want := range favorites {
		if slices.Contains(forms, want) {
			return want
		}
	}
	return forms[0]
}

// qualities parses headers such as "image/*;q=0.8, text/html" into the quality of each media range.
// An invalid quality is 0.
func qualities(headers []string) map[string]float64 {
	out := map[string]float64{}
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			name, parameters, _ := strings.Cut(part, ";")
			q := 1.0
			for p := range strings.SplitSeq(parameters, ";") {
				key, value, _ := strings.Cut(p, "=")
				if !strings.EqualFold(strings.TrimSpace(key), "q") {
					continue
				}
				var err error
				if q, err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil || !(q >= 0 && q <= 1) {
					q = 0
				}
			}
			name = strings.ToLower(strings.TrimSpace(name))
			out[name] = max(out[name], q)
		}
	}
	return out
}
