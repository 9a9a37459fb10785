// Package access decides which HTTP requests a page about the inside of a program answers.
package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// The reasons for which a request is refused.
var (
	ErrRemote = errors.New("the connection does not come from a loopback address of this machine")
	ErrHost   = errors.New("the Host header does not name localhost or a loopback address")
	ErrProxy  = errors.New("the request came through a proxy, which hides where it comes from")
	ErrSite   = errors.New("the request was made by a page of another site")
	ErrToken  = errors.New(`the request carries no valid token: send it as "Authorization: Bearer TOKEN" or as ?token=TOKEN`)
)

// Local reports why a request does not count as one from this machine; it returns nil if it does.
//
//   - The address that the connection comes from must be a loopback address, or the connection a
//     Unix socket.
//   - The host that the client asked for must be one, too: a page in a browser can have its own
//     name resolve to 127.0.0.1, and would then be a client on this machine (DNS rebinding).
//   - The request must carry no header that proxies add. Many add none: a handler that a
//     proxy may forward to needs a [Token].
//   - No page of another site may ask, except by a link that the user follows.
func Local(r *http.Request) error {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return ErrProxy
		}
	}
	if fromOtherSite(r) {
		return ErrSite
	}
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && a.Network() == "unix" {
		return nil
	}
	if a, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !a.Addr().Unmap().IsLoopback() {
		return ErrRemote
	}
	if !LoopbackHost(r.Host) {
		return ErrHost
	}
	return nil
}

// fromOtherSite reports whether a browser says that a page of another origin makes the request.
func fromOtherSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host {
		return true
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Method != http.MethodGet
}

// LoopbackHost reports whether a host, with or without a port, names the loopback interface.
func LoopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// MinToken is the least length of a token, in bytes.
const MinToken = 16

// Token is a secret that requests have to carry. The zero value has none: its Admit refuses every
// request.
type Token struct {
	value, file string
}

// NewToken returns a token with the given value or, if that is empty, with the content of a file,
// which is read anew for each request, so that the token can be changed without a restart. White
// space around the token does not count.
func NewToken(value, file string) Token { return Token{strings.TrimSpace(value), file} }

// RandomToken returns a token that cannot be guessed.
func RandomToken() Token { return Token{value: rand.Text()} }

// IsSet reports whether there is a value or a file.
func (t Token) IsSet() bool { return t.value != "" || t.file != "" }

// Value returns the secret. Its errors name no path, since clients see them.
func (t Token) Value() (string, error) {
	value := t.value
	if value == "" && t.file != "" {
		data, err := os.ReadFile(t.file)
		if err != nil {
			return "", errors.New("the file of the token cannot be read")
		}
		value = strings.TrimSpace(string(data))
	}
	if len(value) < MinToken {
		return "", fmt.Errorf("the token has %d bytes: want at least %d", len(value), MinToken)
	}
	return value, nil
}

// Admit returns the request without its token if the token is right, else the reason for a refusal.
//
// The token may be in the header "Authorization: Bearer TOKEN", in the parameter "token", or in a
// cookie. A browser that asks for a page with the parameter is sent to the same page with the
// cookie instead, so that the token is neither in the links of the page nor in the address bar; the
// request is then nil. The cookie holds a hash of the token. Pages of other sites cannot send it,
// except by a link that the user follows.
func (t Token) Admit(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	secret, err := t.Value()
	if err != nil {
		return nil, err
	}
	if fromOtherSite(r) {
		return nil, ErrSite
	}
	if scheme, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		if !same(strings.TrimSpace(bearer), secret) {
			return nil, ErrToken
		}
		return r, nil
	}
	name, sum := cookieOf(secret)
	parameter, rest := cutToken(r.URL.RawQuery)
	if parameter != "" {
		if !same(parameter, secret) {
			return nil, ErrToken
		}
		clean := *r
		u := *r.URL
		u.RawQuery = rest
		clean.URL = &u
		if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/html") {
			return &clean, nil
		}
		http.SetCookie(w, &http.Cookie{Name: name, Value: sum, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
		w.Header().Set("Location", (&url.URL{Path: relative(u.Path), RawQuery: rest}).String())
		w.WriteHeader(http.StatusSeeOther)
		return nil, nil
	}
	if c, err := r.Cookie(name); err == nil && same(c.Value, sum) {
		return r, nil
	}
	return nil, ErrToken
}

// relative is a reference from a page to itself that does not depend on where a proxy or
// http.StripPrefix has mounted it.
func relative(path string) string { return "./" + path[strings.LastIndexByte(path, '/')+1:] }

// cutToken takes the parameter "token" out of a query. The others keep their order and spelling.
func cutToken(query string) (token, rest string) {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		value, ok := strings.CutPrefix(part, "token=")
		if !ok {
			kept = append(kept, part)
			continue
		}
		if v, err := url.QueryUnescape(value); err == nil && token == "" {
			token = v
		}
	}
	return token, strings.Join(kept, "&")
}

// cookieOf returns the name and the value of the cookie that stands for a token. Cookies of all
// ports of a host are in one place, so the name differs from token to token.
func cookieOf(secret string) (name, value string) {
	sum := sha256.Sum256([]byte("cookie of " + secret))
	return "bottleneck-" + hex.EncodeToString(sum[:4]), hex.EncodeToString(sum[4:])
}

// same compares in a time that does not depend on where the two differ, nor on their lengths.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
