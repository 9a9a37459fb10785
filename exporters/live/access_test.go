package live

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// Who is answered without Authorize and AllowRemote.
func TestAccess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		remote string
		host   string
		header string // "name: value"
		want   error
	}{
		{"a client on this machine", "127.0.0.1:5000", "localhost:6060", "", nil},
		{"by IPv6", "[::1]:5000", "[::1]:6060", "", nil},
		{"IPv4 in IPv6", "[::ffff:127.0.0.1]:5000", "127.0.0.1", "", nil},
		{"another loopback address", "127.8.9.1:5000", "127.8.9.1:80", "", nil},
		{"an absolute name", "127.0.0.1:5000", "LocalHost.:6060", "", nil},
		{"a link on another site", "127.0.0.1:5000", "localhost", "Sec-Fetch-Site: cross-site;navigate", nil},
		{"a client elsewhere", "192.0.2.7:5000", "localhost:6060", "", errRemote},
		{"a client elsewhere, in IPv6", "[2001:db8::1]:5000", "localhost:6060", "", errRemote},
		{"no address", "", "localhost:6060", "", errRemote},
		{"an address that is none", "localhost:5000", "localhost:6060", "", errRemote},
		{"any address", "0.0.0.0:5000", "localhost:6060", "", errRemote},
		{"DNS rebinding", "127.0.0.1:5000", "evil.example:6060", "", errHost},
		{"a name that begins alike", "127.0.0.1:5000", "localhost.evil.example", "", errHost},
		{"a name that ends alike", "127.0.0.1:5000", "notlocalhost", "", errHost},
		{"no host", "127.0.0.1:5000", "", "", errHost},
		{"an address of the network", "127.0.0.1:5000", "192.0.2.7:6060", "", errHost},
		{"a proxy on this machine", "127.0.0.1:5000", "localhost:6060", "X-Forwarded-For: 192.0.2.7", errProxy},
		{"a proxy by the standard", "127.0.0.1:5000", "localhost:6060", "Forwarded: for=192.0.2.7", errProxy},
		{"a picture in another site's page", "127.0.0.1:5000", "localhost:6060", "Sec-Fetch-Site: cross-site", errSite},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = c.remote, c.host
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			value, mode, _ := strings.Cut(value, ";")
			r.Header.Set(name, value)
			r.Header.Set("Sec-Fetch-Mode", mode)
		}
		if got := local(r); got != c.want {
			t.Errorf("%s: %v", c.why, got)
		}
	}
}

// The refusal reaches the client, whatever it asks for; AllowRemote lifts it, and Authorize decides alone.
func TestRefusal(t *testing.T) {
	t.Parallel()
	tapeOf := func() *tape { return readTape(t, smallTrace) }
	far := func(opt Options, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil) // comes from 192.0.2.1
		w := httptest.NewRecorder()
		newHandler(opt, tapeOf(), nil).ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"/", "/graph", "/trace", "/nothing", "/wall?seconds=x"} {
		if w := far(Options{}, path); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "same machine") || w.Header().Get("X-Go-Pprof") != "1" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := far(Options{AllowRemote: true}, "/graph"); w.Code != http.StatusOK {
		t.Errorf("AllowRemote: %d %s", w.Code, w.Body)
	}
	token := func(r *http.Request) error {
		if r.Header.Get("Authorization") != "Bearer secret" {
			return errors.New("who are you?\r\nX-Evil: 1")
		}
		return nil
	}
	if w := far(Options{Authorize: token, AllowRemote: true}, "/graph"); w.Code != http.StatusForbidden || !strings.HasPrefix(w.Body.String(), "who are you?") || w.Header().Get("X-Evil") != "" {
		t.Errorf("Authorize: %d %q", w.Code, w.Body)
	}
	base := serve(t, newHandler(Options{Authorize: token}, tapeOf(), nil), nil)
	if a := get(t, base+"graph"); a.StatusCode != http.StatusForbidden {
		t.Errorf("Authorize refuses, also on this machine: %s", a.Status)
	}
	if a := get(t, base+"graph", "Authorization", "Bearer secret"); a.StatusCode != http.StatusOK {
		t.Errorf("Authorize allows: %s", a.Status)
	}
	panicky := Options{Authorize: func(*http.Request) error { panic("no user") }}
	if w := far(panicky, "/graph"); w.Code != http.StatusInternalServerError {
		t.Errorf("Authorize panics: %d", w.Code)
	}
}

// A real connection with another Host header is refused, and one over a Unix socket is not.
func TestConnections(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), nil)
	if a := get(t, serve(t, h, nil), "Host", "evil.example"); a.StatusCode != http.StatusForbidden {
		t.Errorf("DNS rebinding: %s", a.Status)
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no Unix sockets: ", err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	resp, err := client.Get("http://shop/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("over a Unix socket: %s", resp.Status)
	}
}
