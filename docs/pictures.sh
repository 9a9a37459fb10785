#!/usr/bin/env bash
# Draws the pictures of the READMEs anew. Those of the gallery are of the recorded traces; all others are of fresh runs, which need a machine that
# does nothing else. The pictures of the page need Chromium, too. Afterwards, compare the numbers in the READMEs with what the programs print.
#
#	bash docs/pictures.sh                    # all of them
#	bash docs/pictures.sh demo service        # only some: gallery page indexer demo service speedup tasks
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -o "$scratch/bottleneck" ./cmd/bottleneck

draw() { # NAME TITLE
	"$scratch/bottleneck" graph -title "$2" -o "docs/gallery/$1.svg" "testdata/real/$1.trace.zst"
}

gallery() {
	mkdir -p docs/gallery
	draw stdlog-file 'log.Logger: 16 goroutines, one file'
	draw otel-old 'OpenTelemetry metrics 1.37: 8 goroutines, one counter'
	draw gocompile-c2 'go tool compile -c=2 go/types'
	draw pgzip 'klauspost/pgzip'
	draw json-gogc5 'encoding/json with GOGC=5'
	draw nethttp-parallel4 'net/http, client and server in one process'
	"$scratch/bottleneck" graph -window 100ms -title 'go tool compile -c=2 go/types, every 100 ms' -o docs/gallery/gocompile-windows.svg testdata/real/gocompile-c2.trace.zst
	"$scratch/bottleneck" graph -title 'Three programs on the same scales' -o docs/gallery/row.svg testdata/real/{gocompile-c2,pgzip,json-gogc5}.trace.zst
}

page() {
	go run ./examples/warmup -units 3000 -o "$scratch/warmup.zip"
	"$scratch/bottleneck" report -title examples/warmup -window 10ms -o "$scratch/warmup.html" "$scratch/warmup.zip"
	BOTTLENECK_LOOK=$PWD/docs BOTTLENECK_PAGE=$scratch/warmup.html go test -count=1 -run=TestReadmePictures ./internal/browsertest
}

indexer() {
	go run ./examples/indexer -trace "$scratch/indexer.trace"
	"$scratch/bottleneck" graph -title 'indexer: load, then index' -o docs/indexer.svg "$scratch/indexer.trace"
}

demo() { "$scratch/bottleneck" demo -time 800ms -workers 2 -o docs/demo.svg; }

service() {
	go run ./examples/service -o "$scratch/service"
	cp "$scratch/service/before.svg" "$scratch/service/after.svg" examples/service/
}

speedup() {
	go run ./examples/scaling -switch sequential -o "$scratch"
	cp "$scratch/sequential.svg" docs/speedup.svg
}

tasks() {
	go run ./examples/pmdtasks -json "$scratch/pmd.json"
	"$scratch/bottleneck" tasks -o docs/granularity-cdf.svg -title 'pmdtasks: 570 files, a task each, and merged as advised' "$scratch/pmd.json"
}

for part in "${@:-gallery page indexer demo service speedup tasks}"; do
	for p in $part; do "$p"; done
done
