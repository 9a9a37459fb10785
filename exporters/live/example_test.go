package live_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live"
)

func ExampleHandler() {
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{}) // and Start it
	mux := http.NewServeMux()
	mux.Handle("/debug/bottleneck/", live.Handler(live.Options{Continuous: c, Token: "a secret of some length"}))
	s := httptest.NewServer(mux) // http.ListenAndServe("localhost:6060", mux) in a service
	defer s.Close()
	defer http.DefaultClient.CloseIdleConnections()

	resp, err := http.Get(s.URL + "/debug/bottleneck/graph?seconds=-1&token=a+secret+of+some+length")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 400 Bad Request
}

// The pages have an address of their own, which a proxy in front of the service does not reach.
func ExampleListenAndServe() {
	var rec bottle.Recorder // keeps the last seconds of the execution trace
	if err := rec.Start(); err != nil {
		log.Print(err)
	}
	defer rec.Stop()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := live.ListenAndServe(ctx, "localhost:6060", live.Options{Recorder: &rec}); err != nil {
		log.Print(err)
	}
}

// Mounted in a service, the pages need a token.
func ExampleOptions_token() {
	http.Handle("/debug/bottleneck/", live.Handler(live.Options{TokenFile: "/run/secrets/bottleneck"}))
}
