module example.com/pools

go 1.26

require (
	github.com/Jeffail/tunny v0.0.0
	github.com/alitto/pond/v2 v2.0.0
	github.com/panjf2000/ants/v2 v2.0.0
	github.com/sourcegraph/conc v0.0.0
)

replace (
	github.com/Jeffail/tunny => ./tunny
	github.com/alitto/pond/v2 => ./pond
	github.com/panjf2000/ants/v2 => ./ants
	github.com/sourcegraph/conc => ./conc
)
