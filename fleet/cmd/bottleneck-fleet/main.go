// Command bottleneck-fleet analyzes any number of execution traces and writes the results to
// Parquet files:
//
//	bottleneck-fleet -in 'traces/*/*/*/*.trace' -out parquet
//
// Names may be of local files, gs:// or s3://. Beam's own flags choose where it runs (-runner); by
// default that is in this process.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/bottleneck-go/bottleneck/fleet"
)

func main() {
	var opt fleet.Options
	in := flag.String("in", "", "`patterns` of traces and saved results (.json), with * and ?, separated by commas")
	flag.StringVar(&opt.Out, "out", "", "`directory` for the Parquet files")
	flag.StringVar(&opt.Key, "key", fleet.DefaultKey, "`regexp` for file names whose groups service, version, host and window are the key")
	flag.DurationVar(&opt.Window, "window", 0, "add up by windows of this `length`, by the time of modification of a file")
	flag.IntVar(&opt.Shards, "shards", 1, "`number` of files for each table")
	flag.Int64Var(&opt.MaxMemory, "max-memory", 0, "`bytes` of the heaps of all workers; 0 means half of the machine's memory")
	flag.StringVar(&log.LogLevel, "log", "error", "`level` of messages of Beam: debug, info, warn or error")
	flag.Parse()
	log.SetupLoggingWithDefault()
	beam.Init()
	if *in != "" {
		opt.In = strings.Split(*in, ",")
	}
	if flag.NArg() > 0 || *in == "" || opt.Out == "" {
		fmt.Fprintln(os.Stderr, "usage: bottleneck-fleet -in PATTERNS -out DIRECTORY [flags]; -h lists the flags")
		os.Exit(2)
	}
	if err := run(context.Background(), opt); err != nil {
		fmt.Fprintln(os.Stderr, "bottleneck-fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opt fleet.Options) error {
	// An error of the pipeline has the plan of a bundle in it, so what is likely is checked before.
	for _, pattern := range opt.In {
		fs, err := filesystem.New(ctx, pattern)
		if err != nil {
			return err
		}
		names, err := fs.List(ctx, pattern)
		fs.Close()
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("-in: no file matches %s", pattern)
		}
	}
	p, s := beam.NewPipelineWithRoot()
	if err := fleet.Build(s, opt); err != nil {
		return err
	}
	return beamx.Run(ctx, p)
}
