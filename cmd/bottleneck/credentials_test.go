package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Each command that reads URLs sends the headers it is given, to the hosts that it is given.
func TestCredentialsReachTheServiceAndNoOther(t *testing.T) {
	data := read(t, mutexTrace)
	var mu sync.Mutex
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization")+r.Header.Get("X-Tenant") != "" {
			leaked = append(leaked, r.URL.Path)
		}
		w.Write(data)
	}))
	defer other.Close()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		switch {
		case r.Header.Get("Authorization") != "Bearer a secret" || r.Header.Get("X-Tenant") != "a=b" || r.Host != "shop.example":
			http.Error(w, "not allowed", http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/elsewhere"):
			http.Redirect(w, r, other.URL+"/trace", http.StatusFound)
		default:
			w.Write(data)
		}
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	given := []string{"-token-file", file, "--header=X-Tenant: a=b", "-header", "Host: shop.example"}
	for _, args := range [][]string{
		{"graph", s.URL + "/trace"},
		{"graph", s.URL + "/elsewhere"},
		{"contention", s.URL + "/trace"},
		{"tasks", s.URL + "/trace"},
		{"diff", s.URL + "/trace", mutexTrace},
		{"report", "-o", filepath.Join(t.TempDir(), "x.html"), s.URL + "/trace"},
		{"merge", s.URL + "/a", s.URL + "/b"},
		{"record", "-seconds", "0.1", "-o", filepath.Join(t.TempDir(), "x.trace"), s.URL + "/debug/pprof/"},
		{"top", "-n", "1", "-seconds", "0.1", s.URL + "/debug/pprof/"},
	} {
		asked = 0
		if r := bottleneck(args...); r.status != exitFailure || !strings.Contains(r.out+r.err, "not allowed") {
			t.Errorf("%s without credentials: status %d, %s", args[0], r.status, r.out+r.err)
		}
		if r := bottleneck(append(args, given...)...); r.status != exitOK || asked < 2 {
			t.Errorf("%s with credentials: status %d after %d requests, %s", args[0], r.status, asked, r.err)
		}
	}
	if leaked != nil {
		t.Errorf("credentials went to another host: %q", leaked)
	}
}

func TestWrongCredentials(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bottleneck("graph", "-header", "secret", "http://localhost:1").want(t, exitUsage, "", "-header: want 'NAME: VALUE'")
	bottleneck("graph", "-header").want(t, exitUsage, "", "flag needs an argument: -header")
	bottleneck("graph", "-token-file", empty).want(t, exitUsage, "", "want a token on one line")
	bottleneck("graph", "-token-file", empty+"x").want(t, exitFailure, "", "no such file")
	bottleneck("version", "-header", "A: b").want(t, exitUsage, "", "unknown flag -header")
}
