package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/access"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The pages reveal the internals of a program, and producing them takes processor time. A mounted
// handler cannot identify its clients: many proxies add no header, so all requests seem to come
// from this machine. It therefore refuses all requests until it has a token, an Authorize function,
// or its own listener.

// guard decides whether a handler answers a request. A guard without any fields set refuses all
// requests.
type guard struct {
	authorize func(*http.Request) error
	token     access.Token
	anyone    bool
	own       bool // requests come from a listener of Serve
}

func newGuard(opt *Options) guard {
	g := guard{authorize: opt.Authorize, token: access.NewToken(opt.Token, opt.TokenFile), anyone: opt.AllowRemote}
	if g.authorize == nil && !g.token.IsSet() && !g.anyone {
		g.token = access.NewToken(os.Getenv("BOTTLENECK_TOKEN"), os.Getenv("BOTTLENECK_TOKEN_FILE"))
	}
	return g
}

// closed reports whether the guard refuses all requests.
func (g *guard) closed() bool {
	return g.authorize == nil && !g.token.IsSet() && !g.anyone && !g.own
}

var errClosed = errors.New("this handler has no token, and behind a proxy all requests seem to come from this machine: set live.Options.Token or TokenFile " +
	"(or BOTTLENECK_TOKEN or BOTTLENECK_TOKEN_FILE in the environment), or serve it by live.ListenAndServe, on a loopback address or a Unix socket of its own")

// admit returns the request without its token, or the reason for refusing it. If it returns
// neither, the request has already been answered.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	switch {
	case g.authorize != nil:
		return r, refused(g.authorize(r))
	case g.token.IsSet():
		r, err := g.token.Admit(w, r)
		if errors.Is(err, access.ErrToken) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="bottleneck"`)
			return nil, &problem{status: http.StatusUnauthorized, text: err.Error()}
		}
		return r, refused(err)
	case g.anyone:
		return r, nil
	case g.own:
		return r, refused(access.Local(r))
	}
	return nil, refused(errClosed)
}

// refused turns the reason for a refusal into an answer.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &problem{status: http.StatusForbidden, text: format.Clean(err.Error())}
}

// ListenAndServe serves the pages on its own address, which no other handler shares, until the
// context ends. The address is HOST:PORT with a loopback host, such as "localhost:6061", or "unix:"
// and the path of a socket, to which only the user of the process can connect. The pages are at
// "/". Clients on this machine need no token unless one is set.
//
// The error is nil if the context ended.
func ListenAndServe(ctx context.Context, address string, opt Options) error {
	l, err := Listen(ctx, address)
	if err != nil {
		return err
	}
	return Serve(ctx, l, opt)
}

// Listen returns a listener for [Serve] on an address as in [ListenAndServe]. It refuses addresses
// that other machines can reach.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		l, err := config.Listen(ctx, "unix", path)
		if err != nil && wasLeft(ctx, path) && os.Remove(path) == nil {
			l, err = config.Listen(ctx, "unix", path)
		}
		if err != nil {
			return nil, fmt.Errorf("live: %w", err)
		}
		if err := os.Chmod(path, 0o600); err != nil && runtime.GOOS != "windows" {
			l.Close()
			return nil, fmt.Errorf("live: %w", err)
		}
		return l, nil
	}
	if host, _, err := net.SplitHostPort(address); err != nil || !access.LoopbackHost(host) {
		return nil, fmt.Errorf("live: address %q: want HOST:PORT with a loopback address as host, or unix:PATH", address)
	}
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	return l, nil
}

// wasLeft reports whether a path is a socket on which no process listens, such as one left by a
// killed process.
func wasLeft(ctx context.Context, path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// Serve is [ListenAndServe] on a listener from [Listen], which it closes. It refuses a listener
// that other machines can reach unless the options have a Token, an Authorize or AllowRemote.
func Serve(ctx context.Context, l net.Listener, opt Options) error {
	h := Handler(opt).(*handler)
	if h.guard.own = isOwn(l.Addr()); !h.guard.own && h.guard.closed() {
		l.Close()
		return fmt.Errorf("live: other machines can reach %s: set a token, Authorize or AllowRemote, or listen on a loopback address", l.Addr())
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		// Collections end with their context, so answers in progress do not take long.
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(late) != nil {
			server.Close()
		}
	})
	err := server.Serve(l)
	if stop() {
		server.Close()
		return fmt.Errorf("live: %w", err)
	}
	<-ended
	return nil
}

// isOwn reports whether only this machine can connect to an address.
func isOwn(a net.Addr) bool {
	if a.Network() == "unix" {
		return true
	}
	ap, err := netip.ParseAddrPort(a.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
