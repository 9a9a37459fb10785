package prometheus_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bottleneck-go/bottleneck"
	bottleprom "github.com/bottleneck-go/bottleneck/exporters/prometheus"
)

func ExampleNewCollector() {
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{}) // and Start it
	registry := prometheus.NewRegistry()
	registry.MustRegister(bottleprom.NewCollector(c, bottleprom.Options{}))
	families, err := registry.Gather()
	fmt.Println(len(families) > 0, err)
	// Output: true <nil>
}
