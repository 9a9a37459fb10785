module github.com/Jeffail/tunny

go 1.13
