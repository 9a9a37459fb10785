package live

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// form is one of the forms in which an answer can be given.
type form string

// The forms, as ?format= names them.
const (
	formSVG   form = "svg"
	formPNG   form = "png"
	formText  form = "text"
	formJSON  form = "json"
	formPprof form = "pprof"
	formTrace form = "trace"
)

// contentTypes are the media types of the forms.
var contentTypes = map[form]string{
	formSVG:   "image/svg+xml; charset=utf-8",
	formPNG:   "image/png",
	formText:  "text/plain; charset=utf-8",
	formJSON:  "application/json; charset=utf-8",
	formPprof: "application/octet-stream",
	formTrace: "application/octet-stream",
}

// extensions name files, for the forms that a browser would save.
var extensions = map[form]string{formPprof: ".pb.gz", formTrace: ".trace"}

// asked are the media types by which a client may ask for a form. A browser that opens an address
// asks for HTML: it gets the picture, or text where there is none.
var asked = map[form][]string{
	formSVG:   {"image/svg+xml", "text/html", "application/xhtml+xml"},
	formPNG:   {"image/png"},
	formText:  {"text/plain"},
	formJSON:  {"application/json"},
	formPprof: {"application/octet-stream", "application/vnd.google.protobuf", "application/x-protobuf"},
	formTrace: {"application/octet-stream"},
}

// choose picks one of the forms for the request's Accept header; false if none is acceptable.
//
// A client that sends no such header is a program, such as go tool pprof or a scraper of profiles,
// and gets a profile if there is one. A client that takes anything, such as curl, gets text.
func choose(header http.Header, forms []form) (form, bool) {
	ranges := qualities(header.Values("Accept"))
	maps.DeleteFunc(ranges, func(media string, _ float64) bool { return !strings.Contains(media, "/") })
	if len(ranges) == 0 {
		return preferred(forms, formPprof, formText), true
	}
	best, most := form(""), rank{}
	for _, f := range orderFor(forms) {
		if r := rankOf(f, forms, ranges); r.quality > 0 && most.less(r) {
			best, most = f, r
		}
	}
	return best, best != ""
}

// preferred returns the first of the favourites that is among the forms, else the first form.
func preferred(forms []form, favourites ...form) form {
	for _, want := range favourites {
		for _, f := range forms {
			if f == want {
				return f
			}
		}
	}
	return forms[0]
}

// orderFor puts text first: it is for clients that take anything.
func orderFor(forms []form) []form {
	out := []form{preferred(forms, formText)}
	for _, f := range forms {
		if f != out[0] {
			out = append(out, f)
		}
	}
	return out
}

// qualities reads headers such as "image/*;q=0.8, text/html": the weights of what a client accepts.
// A weight that cannot be read is 0.
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

// rank is how well a form fits: by quality, then by how exactly it was named.
type rank struct {
	quality   float64
	exactness int
}

func (r rank) less(o rank) bool {
	return r.quality < o.quality || r.quality == o.quality && r.exactness < o.exactness
}

// rankOf is the rank of a form among others: that of its best media type, for which the most exact
// range counts.
func rankOf(f form, forms []form, ranges map[string]float64) (best rank) {
	media := asked[f]
	if f == formText && preferred(forms, formSVG) != formSVG {
		media = append([]string{"text/html"}, media...) // there is no picture for a browser
	}
	for _, m := range media {
		var r rank
		family, _, _ := strings.Cut(m, "/")
		for e, media := range []string{"*/*", family + "/*", m} {
			if quality, named := ranges[media]; named {
				r = rank{quality, e + 1}
			}
		}
		if best.less(r) {
			best = r
		}
	}
	return best
}
