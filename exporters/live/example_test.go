package live_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/exporters/live"
)

func ExampleHandler() {
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{}) // and Start it
	mux := http.NewServeMux()
	mux.Handle("/debug/bottleneck/", live.Handler(live.Options{Continuous: c}))
	s := httptest.NewServer(mux) // http.ListenAndServe("localhost:6060", mux) in a service
	defer s.Close()
	defer http.DefaultClient.CloseIdleConnections()

	resp, err := http.Get(s.URL + "/debug/bottleneck/graph?seconds=-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 400 Bad Request
}

// Who has the token is answered, from wherever.
func ExampleOptions_authorize() {
	token := func(r *http.Request) error {
		if r.Header.Get("Authorization") != "Bearer secret" {
			return fmt.Errorf("not allowed")
		}
		return nil
	}
	http.Handle("/debug/bottleneck/", live.Handler(live.Options{Authorize: token}))
}
