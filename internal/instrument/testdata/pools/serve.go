//go:build serve

package main

import (
	"net/http"
	"net/http/httptest"
	"time"
)

func page(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) }

func init() {
	requests = func() {
		server := httptest.NewServer(http.HandlerFunc(page))
		defer server.Close()
		for range 10 {
			answer, err := server.Client().Get(server.URL)
			if err != nil {
				panic(err)
			}
			answer.Body.Close()
		}
	}
}
