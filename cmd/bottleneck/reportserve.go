package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/internal/access"
)

// checkLoopback refuses addresses that others could reach.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("-http %s: want [HOST]:PORT, such as localhost:8080, or :0 for a free port", address)
	}
	if addr, err := netip.ParseAddr(host); host != "" && host != "localhost" && !(err == nil && addr.IsLoopback()) {
		return usagef("-http %s: the page is served to this machine only; want localhost, 127.0.0.1 or [::1]", address)
	}
	return nil
}

// serveReport serves the page until the command is interrupted.
func serveReport(ctx context.Context, std stdio, address string, d *report.Data) error {
	token, err := access.RandomToken().Value()
	if err != nil {
		return err
	}
	handler, err := report.NewHandler(d, report.HandlerOptions{Token: token})
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
	fmt.Fprintf(std.out, "http://%s/?token=%s\n", net.JoinHostPort(host, port), token)
	if _, terminal := terminalOf(std.err); terminal {
		fmt.Fprintln(std.err, "Serving the page to browsers that open this URL; interrupt (ctrl-C) to end.")
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("-http: %w", err)
	}
	return nil // an interrupt is how serving ends
}
