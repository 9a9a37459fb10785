package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/access"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/report"
)

// CheckLoopback rejects addresses that other machines could reach.
func CheckLoopback(address string) error {
	host, port, err := net.SplitHostPort(address)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || port != "" && wrong != nil {
		return flags.Errorf("-http %s: want [HOST]:[PORT], such as localhost:8080, or : for a free port", address)
	}
	if host != "" && !access.LoopbackHost(host) {
		return flags.Errorf("-http %s: the page is served to this machine only; want localhost, 127.0.0.1 or [::1]", address)
	}
	return nil
}

// Serve serves a page, whose URL it prints, until ctx is done.
func Serve(ctx context.Context, stdout, stderr io.Writer, address string, d *report.Data) error {
	token, err := access.RandomToken().Value()
	if err != nil {
		return err
	}
	handler, err := report.NewHandler(d, token)
	if err != nil {
		return err
	}
	if strings.HasPrefix(address, ":") {
		address = "localhost" + address
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("-http: %w", err)
	}
	host, _, _ := net.SplitHostPort(address)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	fmt.Fprintf(stdout, "http://%s/?token=%s\n", net.JoinHostPort(host, port), token)
	if _, terminal := output.TerminalOf(stderr); terminal {
		fmt.Fprintln(stderr, "Serving the page to browsers that open this URL; interrupt (ctrl-C) to end.")
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("-http: %w", err)
	}
	return nil // serving ends with an interrupt
}
