package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// unpackJSON unpacks what a command has saved and gzip or zstd has packed; its head is then that of
// the JSON. All else stays packed: traces are unpacked by their reader, profiles for pprof by
// theirs.
func unpackJSON(from io.Reader, head []byte) (io.Reader, []byte) {
	unpack := unpackerOf(head)
	if unpack == nil {
		return from, head
	}
	const enough = 1 << 16 // to unpack the beginning
	begin := head
	switch r := from.(type) {
	case *os.File:
		begin = make([]byte, enough)
		n, _ := r.ReadAt(begin, 0)
		begin = begin[:n]
	case *bufio.Reader:
		begin, _ = r.Peek(enough)
	}
	z, err := unpack(bytes.NewReader(begin))
	if err != nil {
		return from, head
	}
	unpacked := make([]byte, headLength)
	n, _ := io.ReadFull(z, unpacked)
	if unpacked = unpacked[:n]; !holdsJSON(unpacked) {
		return from, head
	}
	if z, err = unpack(from); err != nil {
		return from, head
	}
	return z, unpacked
}

// unpackerOf returns what unpacks an input that begins so; nil if it is not packed.
func unpackerOf(head []byte) func(io.Reader) (io.Reader, error) {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return func(r io.Reader) (io.Reader, error) {
			return zstd.NewReader(r, zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(1))
		}
	}
	return nil
}
