package main

import "testing"

// Each row of the table of artifacts has all functions that the commands use.
func TestTableOfArtifacts(t *testing.T) {
	names, keys := map[string]bool{}, map[string]bool{}
	for _, k := range sniffed {
		if names[k.name] || keys[k.key] || k.key == "" || k.what == "" || k.load == nil {
			t.Errorf("%s: %+v", k.name, k)
		}
		names[k.name], keys[k.key] = true, true
		if k.sums != nil && k.forms["json"] == nil {
			t.Errorf("sums of %s cannot be saved", k.name)
		}
		if got := kindOfJSON([]byte(`{"version":1,"` + k.key + `":[]}`)); got != k {
			t.Errorf("%s is recognized as %v", k.name, got)
		}
	}
	for _, k := range summed {
		if k.sums == nil {
			t.Errorf("%s: there is no sum", k.name)
		}
	}
	for _, k := range kinds {
		if k.pairs == nil || k.want == 0 || kindNamed(k.name) != k || len(k.fails.All()) == 0 || k.forms["text"] == nil {
			t.Errorf("%s: %+v", k.name, k)
		}
	}
	if kindNamed("counters") != nil || kindOfJSON([]byte(`{"version":1}`)) != nil || kindOfJSON([]byte(`[]`)) != nil {
		t.Error("a kind of what has none")
	}
}
