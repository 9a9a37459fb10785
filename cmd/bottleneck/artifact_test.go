package main

import "testing"

// Each row of the table of artifacts has all functions that the commands use.
func TestTableOfArtifacts(t *testing.T) {
	names, keys := map[string]bool{}, map[string]bool{}
	for _, k := range sniffed {
		info := k.about()
		if names[info.name] || keys[info.key] || info.key == "" || info.what == "" {
			t.Errorf("%s: %+v", info.name, info)
		}
		names[info.name], keys[info.key] = true, true
		if info.merged && !k.forms().has("json") {
			t.Errorf("sums of %s cannot be saved", info.name)
		}
		if got := kindOfJSON([]byte(`{"version":1,"` + info.key + `":[]}`)); got != k {
			t.Errorf("%s is recognised as %v", info.name, got)
		}
	}
	for _, k := range kinds {
		if info := k.about(); info.compare == nil || info.want == 0 || kindNamed(info.name) != k || len(k.measures().whole) == 0 {
			t.Errorf("%s: %+v", info.name, info)
		}
	}
	if kindNamed("counters") != nil || kindOfJSON([]byte(`{"version":1}`)) != nil || kindOfJSON([]byte(`[]`)) != nil {
		t.Error("a kind of what has none")
	}
}
