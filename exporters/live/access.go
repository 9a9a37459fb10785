package live

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// What the handlers tell is about the inside of a program, and telling it takes processor time. So without
// Authorize or AllowRemote they answer only who is on the same machine:
//
//   - The address that the connection comes from must be of the loopback interface, or the connection a Unix socket.
//   - The host that the client asked for must be, too: a page in the user's browser can have its own
//     name resolve to 127.0.0.1, and would then be a client on this machine (DNS rebinding).
//   - No proxy may have been on the way: it makes requests from anywhere look as if they came from here.
//   - No page of another site may ask, except by a link that the user follows.

var (
	errRemote = errors.New("only clients on the same machine are answered, by the address of its loopback interface: see live.Options.Authorize and AllowRemote")
	errHost   = errors.New("only requests for localhost or a loopback address are answered: see live.Options.Authorize and AllowRemote")
	errProxy  = errors.New("the request came through a proxy, so nobody knows where from: see live.Options.Authorize and AllowRemote")
	errSite   = errors.New("pages of other sites may not ask")
)

// admit reports why a request is refused; nil if it is not.
func (h *handler) admit(r *http.Request) error {
	switch {
	case h.opt.Authorize != nil:
		return h.opt.Authorize(r)
	case h.opt.AllowRemote:
		return nil
	}
	return local(r)
}

// local reports why a request does not count as one from this machine.
func local(r *http.Request) error {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return errProxy
		}
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return errSite
	}
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && a.Network() == "unix" {
		return nil
	}
	if a, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !loopback(a.Addr()) {
		return errRemote
	}
	if !localHost(r.Host) {
		return errHost
	}
	return nil
}

// localHost reports whether a Host header, with or without a port, names this machine's loopback interface.
func localHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && loopback(a)
}

func loopback(a netip.Addr) bool { return a.Unmap().IsLoopback() }
