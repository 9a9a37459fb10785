package grpc

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/capture"
)

// reasons is a Sink that keeps the reasons of captures.
type reasons struct {
	mu   sync.Mutex
	list []string
}

func (r *reasons) Store(ctx context.Context, name string, files []capture.File) error {
	for _, f := range files {
		if f.Name == capture.InfoFile {
			var b bytes.Buffer
			f.Data.WriteTo(&b)
			var info capture.Info
			if err := json.Unmarshal(b.Bytes(), &info); err != nil {
				return err
			}
			r.mu.Lock()
			r.list = append(r.list, info.Reason)
			r.mu.Unlock()
		}
	}
	return nil
}

func (r *reasons) get() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}

type noTrace struct{}

func (noTrace) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte("no trace"))
	return int64(n), err
}

// service answers according to the name of the service in the request.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	captured func()
}

func (s *service) do(in *grpc_health_v1.HealthCheckRequest) error {
	switch in.Service {
	case "slow":
		s.captured()
	case "panic":
		panic("lost")
	case "error":
		return status.Error(codes.NotFound, "no such service")
	}
	return nil
}

func (s *service) Check(ctx context.Context, in *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, s.do(in)
}

func (s *service) Watch(in *grpc_health_v1.HealthCheckRequest, stream grpc_health_v1.Health_WatchServer) error {
	if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}); err != nil {
		return err
	}
	return s.do(in)
}

// start starts a server whose slow calls last until they are captured, and returns a client.
func start(t *testing.T, slow time.Duration) (grpc_health_v1.HealthClient, *reasons) {
	sink := &reasons{}
	rec := &bottle.Recorder{Source: noTrace{}}
	c := capture.New(capture.Options{Recorder: rec, Sink: sink, NoVerdict: true, Every: time.Hour})
	recovered := func(err *error) {
		if v := recover(); v != nil {
			*err = status.Errorf(codes.Internal, "%v", v)
		}
	}
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (_ any, err error) {
			defer recovered(&err)
			return h(ctx, req)
		}, Unary(c, slow)),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
			defer recovered(&err)
			return h(srv, s)
		}, Stream(c, slow)))
	grpc_health_v1.RegisterHealthServer(server, &service{captured: func() {
		for deadline := time.Now().Add(20 * time.Second); len(sink.get()) == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}})
	lis := bufconn.Listen(1 << 16)
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(lis) })
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); server.Stop(); serving.Wait(); c.Stop() })
	return grpc_health_v1.NewHealthClient(conn), sink
}

// The client sees the same answer, whether the call is captured or not.
func TestCallsAreCaptured(t *testing.T) {
	const unary, stream = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
	for _, tt := range []struct {
		service string
		d       time.Duration
		code    codes.Code
		reasons [2]string // of the unary call and of the stream
	}{
		{"quick", time.Hour, codes.OK, [2]string{}},
		{"quick", 0, codes.OK, [2]string{}},
		{"error", time.Hour, codes.NotFound, [2]string{}},
		{"slow", time.Millisecond, codes.OK, [2]string{unary + " runs for more than 1ms", stream + " runs for more than 1ms"}},
		{"panic", time.Hour, codes.Internal, [2]string{"panic: lost", "panic: lost"}},
		{"panic", 0, codes.Internal, [2]string{"panic: lost", "panic: lost"}},
	} {
		in := &grpc_health_v1.HealthCheckRequest{Service: tt.service}
		calls := [2]func(grpc_health_v1.HealthClient) error{
			func(c grpc_health_v1.HealthClient) error {
				_, err := c.Check(t.Context(), in)
				return err
			},
			func(c grpc_health_v1.HealthClient) error {
				s, err := c.Watch(t.Context(), in)
				if err != nil {
					return err
				}
				if m, err := s.Recv(); err != nil || m.Status != grpc_health_v1.HealthCheckResponse_SERVING {
					t.Errorf("the first message is %v, %v", m, err)
				}
				if _, err = s.Recv(); err == io.EOF {
					err = nil
				}
				return err
			},
		}
		for i, call := range calls {
			client, sink := start(t, tt.d)
			if err := call(client); status.Code(err) != tt.code {
				t.Errorf("%s: %v, want %v", tt.service, err, tt.code)
			}
			got, want := sink.get(), tt.reasons[i]
			if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0] != want) {
				t.Errorf("%s after %v: captured %q, want %q", tt.service, tt.d, got, want)
			}
		}
	}
}
