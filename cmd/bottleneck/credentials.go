package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
)

// credentialsHelp is what the help of each command that reads URLs says of them.
const credentialsHelp = `
Flags for URLs:

    -header 'NAME: VALUE'   send a header with each request. May be given several times
    -token-file FILE        send "Authorization: Bearer TOKEN" with the content of a file, for
                            handlers of exporters/live that have a token

Both go to every URL of the command, but not to other hosts that an answer redirects to.
`

// credentials are headers for each request of a command.
type credentials struct{ header http.Header }

// takeCredentials takes the flags for URLs out of the arguments of a command.
func takeCredentials(args []string) (c *credentials, rest []string, err error) {
	c = &credentials{header: http.Header{}}
	last := args[len(args):]
	if i := slices.Index(args, "--"); i >= 0 {
		args, last = args[:i], args[i:]
	}
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(args[i], "=")
		add := c.add
		switch name {
		case "-header", "--header":
		case "-token-file", "--token-file":
			add = c.addToken
		default:
			rest = append(rest, args[i])
			continue
		}
		if !inline {
			if i++; i == len(args) {
				return nil, nil, usagef("flag needs an argument: %s", name)
			}
			value = args[i]
		}
		if err := add(value); err != nil {
			return nil, nil, err
		}
	}
	return c, append(rest, last...), nil
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

func (c *credentials) addToken(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fileError(file, err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, "\r\n") {
		return usagef("-token-file %s: want a token on one line", file)
	}
	c.header.Set("Authorization", "Bearer "+token)
	return nil
}

type credentialsKey struct{}

// withCredentials makes requests of a context carry them.
func withCredentials(ctx context.Context, c *credentials) context.Context {
	return context.WithValue(ctx, credentialsKey{}, c)
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
