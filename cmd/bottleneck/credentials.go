package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// credentials are headers for each request of a command.
type credentials struct {
	header http.Header
	token  string // the file with it
}

// urls adds the flags of a command that reads URLs.
func (a *app) urls(c *cobra.Command) {
	a.credentials.header = http.Header{}
	c.Flags().Func("header", "send `'NAME: VALUE'` with each request, but not to hosts to which an answer redirects; may be given several times", a.credentials.add)
	c.Flags().StringVar(&a.credentials.token, "token-file", "", "send \"Authorization: Bearer TOKEN\" with the content of `FILE`, for exporters/live with a token")
}

func (c *credentials) add(line string) error {
	name, value, ok := strings.Cut(line, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || strings.ContainsAny(line, "\r\n") || strings.ContainsAny(name, " \t\"(),/;<=>?@[\\]{}") {
		return usagef("-header: want 'NAME: VALUE'") // the value may be a secret
	}
	c.header.Add(name, value)
	return nil
}

type credentialsKey struct{}

// of returns a context whose requests carry them.
func (c *credentials) of(ctx context.Context) (context.Context, error) {
	if c.token != "" {
		data, err := os.ReadFile(c.token)
		if err != nil {
			return nil, fileError(c.token, err)
		}
		token := strings.TrimSpace(string(data))
		if token == "" || strings.ContainsAny(token, "\r\n") {
			return nil, usagef("-token-file %s: want a token on one line", c.token)
		}
		c.header.Set("Authorization", "Bearer "+token)
	}
	return context.WithValue(ctx, credentialsKey{}, c), nil
}

// client asks with the credentials of a context. They stay with the host that they were meant for.
func client(req *http.Request) *http.Client {
	c, _ := req.Context().Value(credentialsKey{}).(*credentials)
	if c == nil || len(c.header) == 0 {
		return http.DefaultClient
	}
	for name, values := range c.header {
		req.Header[name] = slices.Clone(values)
	}
	if host := c.header.Get("Host"); host != "" {
		req.Host = host
	}
	host := req.URL.Host
	return &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Host != host {
			for name := range c.header {
				next.Header.Del(name)
			}
		}
		if len(via) >= 10 {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}}
}
