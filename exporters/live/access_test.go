package live

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

const secret = "a secret of some length"

// mounted returns a handler as an application mounts it.
func mounted(t testing.TB, opt Options) *handler {
	h := newHandler(opt, readTape(t, smallTrace), nil)
	h.guard.own = false
	return h
}

func TestMountedHandlerRefusesByDefault(t *testing.T) {
	base := serve(t, mounted(t, Options{}), nil)
	for _, path := range []string{"", "graph", "trace", "metrics", "nothing", "wall?seconds=x"} {
		a := get(t, base+path)
		if a.StatusCode != http.StatusForbidden || a.Header.Get("X-Go-Pprof") != "1" {
			t.Errorf("%s: %s %s", path, a.Status, a.body)
		}
		for _, way := range []string{"live.Options.Token", "BOTTLENECK_TOKEN", "live.ListenAndServe"} {
			if !strings.Contains(a.body, way) {
				t.Errorf("%s: the answer does not name %s: %s", path, way, a.body)
			}
		}
	}
}

func TestTokenFromOptionsFileOrEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, name, value string // of the environment
		opt              Options
	}{
		{"option", "", "", Options{Token: secret}},
		{"file", "", "", Options{TokenFile: file}},
		{"environment", "BOTTLENECK_TOKEN", secret, Options{}},
		{"file of the environment", "BOTTLENECK_TOKEN_FILE", file, Options{}},
		{"a token counts more than AllowRemote", "", "", Options{Token: secret, AllowRemote: true}},
	} {
		if c.name != "" {
			t.Setenv(c.name, c.value)
		}
		base := serve(t, mounted(t, c.opt), nil)
		if c.name != "" {
			os.Unsetenv(c.name)
		}
		if a := get(t, base+"graph"); a.StatusCode != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" || strings.Contains(a.body, secret) {
			t.Errorf("%s: without a token %s %s", c.why, a.Status, a.body)
		}
		if a := get(t, base+"graph", "Authorization", "Bearer "+secret); a.StatusCode != http.StatusOK {
			t.Errorf("%s: with the token %s %s", c.why, a.Status, a.body)
		}
		if a := get(t, base+"?token="+strings.ReplaceAll(secret, " ", "+")); a.StatusCode != http.StatusOK || strings.Contains(a.body, secret) {
			t.Errorf("%s: with the parameter %s %s", c.why, a.Status, a.body)
		}
	}
	base := serve(t, mounted(t, Options{Token: secret}), nil)
	if a := get(t, base, "Authorization", "Bearer "+secret, "Accept", "text/html"); !strings.Contains(html.UnescapeString(a.body), `curl -H "Authorization: Bearer $BOTTLENECK_TOKEN" '`+base+`graph?seconds=2'`) ||
		!strings.Contains(html.UnescapeString(a.body), `contention?seconds=2&token='"$BOTTLENECK_TOKEN"`) {
		t.Errorf("the commands of the index lack the token: %s", a.body)
	}
	base = serve(t, mounted(t, Options{Token: "short"}), nil)
	if a := get(t, base, "Authorization", "Bearer short"); a.StatusCode != http.StatusForbidden || !strings.Contains(a.body, "want at least 16") {
		t.Errorf("a short token: %s %s", a.Status, a.body)
	}
}

func TestAuthorizeDecidesAlone(t *testing.T) {
	t.Parallel()
	authorize := func(r *http.Request) error {
		if r.Header.Get("Authorization") != "Bearer secret" {
			return errors.New("who are you?\r\nX-Evil: 1")
		}
		return nil
	}
	base := serve(t, mounted(t, Options{Authorize: authorize, AllowRemote: true, Token: secret}), nil)
	if a := get(t, base+"graph"); a.StatusCode != http.StatusForbidden || !strings.HasPrefix(a.body, "who are you?") || a.Header.Get("X-Evil") != "" {
		t.Errorf("%s %q", a.Status, a.body)
	}
	if a := get(t, base+"graph", "Authorization", "Bearer secret"); a.StatusCode != http.StatusOK {
		t.Errorf("%s %q", a.Status, a.body)
	}
	base = serve(t, mounted(t, Options{AllowRemote: true}), nil)
	if a := get(t, base+"graph", "Host", "shop.example"); a.StatusCode != http.StatusOK {
		t.Errorf("AllowRemote: %s %q", a.Status, a.body)
	}
	base = serve(t, mounted(t, Options{Authorize: func(*http.Request) error { panic("no user") }}), nil)
	if a := get(t, base+"graph"); a.StatusCode != http.StatusInternalServerError {
		t.Errorf("Authorize panics: %s", a.Status)
	}
}

func TestOwnListenerAnswersLocalRequests(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "b") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	for _, address := range []string{"localhost:0", "unix:" + socket} {
		ctx, cancel := context.WithCancel(t.Context())
		l, err := Listen(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, l, Options{Title: "shop"}) }()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, l.Addr().Network(), l.Addr().String())
		}}}
		for host, want := range map[string]int{"localhost": http.StatusOK, "evil.example": http.StatusForbidden} {
			if l.Addr().Network() == "unix" {
				want = http.StatusOK
			}
			resp, err := client.Get("http://" + host + "/")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s as %s: %s", address, host, resp.Status)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: Serve returns %v after its context has ended", address, err)
		}
		if _, err := client.Get("http://localhost/"); err == nil {
			t.Errorf("%s: there is still an answer", address)
		}
	}
}

func TestListenRefusesRemotelyReachableAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "shop.example:80", "localhost", "", "unix:/no/such/directory/s"} {
		if err := ListenAndServe(t.Context(), address, Options{}); err == nil || !strings.HasPrefix(err.Error(), "live: ") {
			t.Errorf("%q: %v", address, err)
		}
	}
	all, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Skip("no address for all interfaces: ", err)
	}
	if err := Serve(t.Context(), all, Options{}); err == nil || !strings.Contains(err.Error(), "set a token") {
		t.Error(err)
	}
}

// A proxy that adds no header makes all requests look local.
func TestBehindNginx(t *testing.T) {
	nginx := "/usr/sbin/nginx" // its place in Debian, outside the PATH of most users
	if _, err := exec.LookPath(nginx); err != nil {
		nginx = testenv.Program(t, "nginx")
	}
	mux := http.NewServeMux()
	mux.Handle("/bare/", mounted(t, Options{}))
	mux.Handle("/token/", mounted(t, Options{Token: secret}))
	backend := httptest.NewServer(mux)
	defer backend.Close()
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	free.Close()
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
	server { listen %[2]s; location / { proxy_pass %[3]s; } }
}
`, dir, at, backend.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	proxy := exec.Command(nginx, "-p", dir, "-c", config)
	proxy.Stderr = &log
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- proxy.Wait() }()
	defer func() { proxy.Process.Kill(); <-ended }()
	for { // until it listens
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("nginx: %v\n%s", err, log.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	paths := []string{"", "nothing"}
	for _, e := range endpoints {
		paths = append(paths, e.name)
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
			if a := ask(t, method, "http://"+at+"/bare/"+path); a.StatusCode != http.StatusForbidden || method == "GET" && !strings.Contains(a.body, "live.Options.Token") {
				t.Errorf("%s /bare/%s: %s %.200s", method, path, a.Status, a.body)
			}
			if a := ask(t, method, "http://"+at+"/token/"+path); a.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s /token/%s: %s %.200s", method, path, a.Status, a.body)
			}
		}
		want := map[string]int{"metrics": http.StatusNotImplemented, "nothing": http.StatusNotFound, "speedup": 0, "leaks": 0}
		status, ok := want[path]
		if !ok {
			status = http.StatusOK
		}
		a := get(t, "http://"+at+"/token/"+path, "Authorization", "Bearer "+secret)
		if status != 0 && a.StatusCode != status || a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden {
			t.Errorf("/token/%s with the token: %s %.200s", path, a.Status, a.body)
		}
	}
}
