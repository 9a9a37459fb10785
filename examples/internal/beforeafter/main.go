package beforeafter

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// Example is the part of an example's program that differs. Its own flags are defined before Main.
type Example struct {
	Unit     string // the unit of work, such as "lines"
	Valid    func() bool
	Variants func() []Variant // after Valid
}

// Main is the main function: it parses the flags, runs the variants and exits, with status 2 for
// invalid flags and 1 after an error.
func Main(e Example) {
	log.SetFlags(0)
	log.SetPrefix(filepath.Base(os.Args[0]) + ": ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	opt := Options{Unit: e.Unit}
	flag.IntVar(&opt.Goroutines, "goroutines", 8, "number of goroutines")
	flag.DurationVar(&opt.Time, "time", time.Second, "how long each version runs")
	flag.StringVar(&opt.Dir, "o", "", "`directory` to write profiles and pictures to")
	flag.Parse()
	if flag.NArg() > 0 || opt.Goroutines < 2 || opt.Time <= 0 || !e.Valid() {
		flag.Usage()
		os.Exit(2)
	}
	if _, err := Run(ctx, os.Stdout, e.Variants(), opt); err != nil {
		log.Fatal(err)
	}
}
