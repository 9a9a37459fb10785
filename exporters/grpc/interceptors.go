// Package grpc captures what a gRPC server did when a call took too long, or panicked: see package
// capture.
//
//	package main
//
//	import (
//		"log"
//		"net"
//		"time"
//
//		"google.golang.org/grpc"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/capture"
//		bottlegrpc "github.com/bottleneck-go/bottleneck/exporters/grpc"
//	)
//
//	func main() {
//		var rec bottle.Recorder
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		c := capture.New(capture.Options{Recorder: &rec, Sink: &capture.Dir{Path: "captures"}})
//		server := grpc.NewServer(
//			grpc.ChainUnaryInterceptor(bottlegrpc.Unary(c, time.Second)),
//			grpc.ChainStreamInterceptor(bottlegrpc.Stream(c, 0)))
//		lis, err := net.Listen("tcp", "localhost:8080")
//		if err != nil {
//			log.Fatal(err)
//		}
//		log.Print(server.Serve(lis))
//	}
//
// Cost: that of capture.Capturer.Slow, 0.6 µs a call (BenchmarkTrigger in package capture).
package grpc

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/bottleneck-go/bottleneck/capture"
)

// Unary returns an interceptor that captures if a call runs for longer than d, while it still runs,
// or panics. The reason has the full method. If d is 0, it captures panics alone.
func Unary(c *capture.Capturer, d time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		defer c.Panic()
		if d > 0 {
			defer c.Slow(info.FullMethod, d)()
		}
		return handler(ctx, req)
	}
}

// Stream returns an interceptor that captures if a stream lasts for longer than d, while it still
// lasts, or panics. If d is 0, as for streams that are open for long, it captures panics alone.
func Stream(c *capture.Capturer, d time.Duration) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		defer c.Panic()
		if d > 0 {
			defer c.Slow(info.FullMethod, d)()
		}
		return handler(srv, stream)
	}
}
