package otel_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/bottleneck-go/bottleneck"
	bottleotel "github.com/bottleneck-go/bottleneck/exporters/otel"
)

func ExampleRegister() {
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	defer provider.Shutdown(context.Background())
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{}) // and Start it
	registration, err := bottleotel.Register(provider.Meter("bottleneck"), c, bottleotel.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registration.Unregister())
	// Output: <nil>
}
