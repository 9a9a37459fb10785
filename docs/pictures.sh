#!/usr/bin/env bash
# Draws the pictures of the gallery anew, from the recorded traces; and those of the page, from a run of
# examples/warmup, where there is a Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -o "$scratch/bottleneck" ./cmd/bottleneck
draw() { # NAME TITLE
	"$scratch/bottleneck" graph -title "$2" -o "docs/gallery/$1.svg" "testdata/real/$1.trace.zst"
}
mkdir -p docs/gallery
draw stdlog-file 'log.Logger: 16 goroutines, one file'
draw otel-old 'OpenTelemetry metrics 1.37: 8 goroutines, one counter'
draw gocompile-c2 'go tool compile -c=2 go/types'
draw pgzip 'klauspost/pgzip'
draw json-gogc5 'encoding/json with GOGC=5'
draw nethttp-parallel4 'net/http, client and server in one process'
"$scratch/bottleneck" graph -window 100ms -title 'go tool compile -c=2 go/types, every 100 ms' -o docs/gallery/gocompile-windows.svg testdata/real/gocompile-c2.trace.zst
go run ./examples/warmup -units 3000 -o "$scratch/warmup.zip"
"$scratch/bottleneck" report -title examples/warmup -window 10ms -o "$scratch/warmup.html" "$scratch/warmup.zip"
BOTTLENECK_LOOK=$PWD/docs BOTTLENECK_PAGE=$scratch/warmup.html go test -count=1 -run=TestReadmePictures ./exporters/report
