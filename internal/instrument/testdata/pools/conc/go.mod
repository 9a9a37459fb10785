module github.com/sourcegraph/conc

go 1.20
