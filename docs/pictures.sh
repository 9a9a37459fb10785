#!/usr/bin/env bash
# Draws the pictures of the README and the gallery anew, from the recorded traces.
set -euo pipefail
cd "$(dirname "$0")/.."
go build -o "${TMPDIR:-/tmp}/bottleneck-pictures" ./cmd/bottleneck
draw() { # NAME TITLE
	"${TMPDIR:-/tmp}/bottleneck-pictures" graph -title "$2" -o "docs/gallery/$1.svg" "testdata/real/$1.trace.zst"
}
mkdir -p docs/gallery
draw stdlog-file 'log.Logger: 16 goroutines, one file'
draw otel-old 'OpenTelemetry metrics 1.37: 8 goroutines, one counter'
draw gocompile-c2 'go tool compile -c=2 go/types'
draw pgzip 'klauspost/pgzip'
draw json-gogc5 'encoding/json with GOGC=5'
draw nethttp-parallel4 'net/http, client and server in one process'
"${TMPDIR:-/tmp}/bottleneck-pictures" graph -window 100ms -title 'go tool compile -c=2 go/types, every 100 ms' -o docs/gallery/gocompile-windows.svg testdata/real/gocompile-c2.trace.zst
rm "${TMPDIR:-/tmp}/bottleneck-pictures"
