package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(m.Run()) }

func TestQuick(t *testing.T) {
	done := make(chan bool)
	go func() { slow(); done <- true }()
	quick()
	<-done
}
