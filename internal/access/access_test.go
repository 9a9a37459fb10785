package access

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocalAdmitsRequestsOfThisMachineOnly(t *testing.T) {
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
		{"its own page", "127.0.0.1:5000", "localhost:80", "Origin: http://localhost:80", nil},
		{"a client elsewhere", "192.0.2.7:5000", "localhost:6060", "", ErrRemote},
		{"a client elsewhere, in IPv6", "[2001:db8::1]:5000", "localhost:6060", "", ErrRemote},
		{"no address", "", "localhost:6060", "", ErrRemote},
		{"an address that is none", "localhost:5000", "localhost:6060", "", ErrRemote},
		{"any address", "0.0.0.0:5000", "localhost:6060", "", ErrRemote},
		{"DNS rebinding", "127.0.0.1:5000", "evil.example:6060", "", ErrHost},
		{"a name that begins alike", "127.0.0.1:5000", "localhost.evil.example", "", ErrHost},
		{"a name that ends alike", "127.0.0.1:5000", "notlocalhost", "", ErrHost},
		{"no host", "127.0.0.1:5000", "", "", ErrHost},
		{"an address of the network", "127.0.0.1:5000", "192.0.2.7:6060", "", ErrHost},
		{"a proxy on this machine", "127.0.0.1:5000", "localhost:6060", "X-Forwarded-For: 192.0.2.7", ErrProxy},
		{"a proxy by the standard", "127.0.0.1:5000", "localhost:6060", "Forwarded: for=192.0.2.7", ErrProxy},
		{"a picture in another site's page", "127.0.0.1:5000", "localhost:6060", "Sec-Fetch-Site: cross-site", ErrSite},
		{"a picture in a page of another port", "127.0.0.1:5000", "localhost:6060", "Sec-Fetch-Site: same-site", ErrSite},
		{"a script of another origin", "127.0.0.1:5000", "localhost:6060", "Origin: http://localhost:9", ErrSite},
		{"a sandboxed frame", "127.0.0.1:5000", "localhost:6060", "Origin: null", ErrSite},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = c.remote, c.host
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			value, mode, _ := strings.Cut(value, ";")
			r.Header.Set(name, value)
			r.Header.Set("Sec-Fetch-Mode", mode)
		}
		if got := Local(r); got != c.want {
			t.Errorf("%s: %v", c.why, got)
		}
	}
}

const secret = "0123456789abcdef+/ &"

func TestTokenAdmitsRequestsThatCarryIt(t *testing.T) {
	t.Parallel()
	name, sum := cookieOf(secret)
	for _, c := range []struct {
		why, url, header string
		want             error
		query            string // of the request that is passed on
	}{
		{"header", "/graph?seconds=2", "Authorization: Bearer " + secret, nil, "seconds=2"},
		{"header in lower case", "/graph", "Authorization: bearer " + secret, nil, ""},
		{"parameter", "/graph?a=1&token=0123456789abcdef%2B%2F+%26&b=%2F", "", nil, "a=1&b=%2F"},
		{"cookie", "/graph", "Cookie: " + name + "=" + sum, nil, ""},
		{"nothing", "/graph", "", ErrToken, ""},
		{"another token", "/graph", "Authorization: Bearer 0123456789abcdeX", ErrToken, ""},
		{"a part of it", "/graph", "Authorization: Bearer " + secret[:16], ErrToken, ""},
		{"another scheme", "/graph", "Authorization: Basic " + secret, ErrToken, ""},
		{"an empty header", "/graph", "Authorization: Bearer ", ErrToken, ""},
		{"a wrong header beside a right parameter", "/graph?token=0123456789abcdef%2B%2F+%26", "Authorization: Bearer x", ErrToken, ""},
		{"a wrong parameter", "/graph?token=x", "", ErrToken, ""},
		{"the token as a cookie", "/graph", "Cookie: " + name + "=" + strings.ReplaceAll(secret, " ", ""), ErrToken, ""},
		{"a page of another site", "/graph?token=0123456789abcdef%2B%2F+%26", "Origin: http://evil.example", ErrSite, ""},
	} {
		r := httptest.NewRequest("GET", c.url, nil)
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			r.Header.Set(name, value)
		}
		got, err := NewToken(secret, "").Admit(httptest.NewRecorder(), r)
		if err != c.want || (got == nil) != (err != nil) {
			t.Errorf("%s: %v, %v", c.why, got, err)
		} else if err == nil && got.URL.RawQuery != c.query {
			t.Errorf("%s: query %q", c.why, got.URL.RawQuery)
		}
	}
}

func TestBrowserGetsCookieInPlaceOfParameter(t *testing.T) {
	t.Parallel()
	token := RandomToken()
	value, err := token.Value()
	if err != nil || len(value) < MinToken {
		t.Fatal(value, err)
	}
	r := httptest.NewRequest("GET", "/debug/graph?seconds=2&token="+value, nil)
	r.Header.Set("Accept", "text/html,*/*")
	w := httptest.NewRecorder()
	if got, err := token.Admit(w, r); got != nil || err != nil {
		t.Fatal(got, err)
	}
	resp := w.Result()
	cookies := resp.Cookies()
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "./graph?seconds=2" || len(cookies) != 1 {
		t.Fatal(resp.Status, resp.Header)
	}
	if c := cookies[0]; strings.Contains(c.String(), value) || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
		t.Error("the cookie is ", c)
	}
	r = httptest.NewRequest("GET", "/debug/graph?seconds=2", nil)
	r.AddCookie(cookies[0])
	if got, err := token.Admit(httptest.NewRecorder(), r); got != r || err != nil {
		t.Error(got, err)
	}
}

func TestTokenFileIsReadForEachRequest(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	token := NewToken("", file)
	admit := func(value string) error {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+value)
		_, err := token.Admit(httptest.NewRecorder(), r)
		return err
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := admit(""); err == nil || strings.Contains(err.Error(), file) {
		t.Error("no file: ", err)
	}
	write("\n")
	if err := admit(""); err == nil || !strings.Contains(err.Error(), "0 bytes") {
		t.Error("an empty file: ", err)
	}
	write("the first of the tokens\n")
	if err := admit("the first of the tokens"); err != nil {
		t.Error(err)
	}
	write("the second of the tokens\r\n")
	if admit("the first of the tokens") != ErrToken || admit("the second of the tokens") != nil {
		t.Error("the file was not read again")
	}
	if _, err := (Token{}).Admit(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)); err == nil {
		t.Error("the zero value admits requests")
	}
}
