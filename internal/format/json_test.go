package format

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEscapeJSON(t *testing.T) {
	const name = "\x1b[31m\u009b2J\u202e\U000e0041\u007f世界"
	b, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	b = EscapeJSON(b)
	if want := `"\u001b[31m\u009b2J\u202e\udb40\udc41\u007f世界"`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	var again string
	if err := json.Unmarshal(b, &again); err != nil || again != name {
		t.Errorf("read again as %q (%v)", again, err)
	}
}

func TestExplainJSON(t *testing.T) {
	type object struct {
		Tasks uint64            `json:"tasks"`
		List  []struct{ A int } `json:"list"`
		One   *struct{ A int }  `json:"one"`
	}
	for text, want := range map[string]string{
		"":                 "the input is empty",
		`{"tasks":`:        "the input ends inside the object",
		"[]":               "expected an object with tasks, found a JSON array",
		`{"tasks":"many"}`: "tasks: expected uint64, found a JSON string",
		`{"list":1}`:       "list: expected an array, found a JSON number",
		`{"list":[1]}`:     "list: expected an object, found a JSON number",
		`{"one":"x"}`:      "one: expected an object, found a JSON string",
		"nonsense":         "invalid character 'o' in literal null (expecting 'u')",
	} {
		whole := ExplainJSON(json.Unmarshal([]byte(text), new(object)), "tasks")
		stream := ExplainJSON(json.NewDecoder(strings.NewReader(text)).Decode(new(object)), "tasks")
		// Since Go 1.27 the path names the element, too.
		is := func(err error) bool { return err != nil && strings.Replace(err.Error(), "list.0:", "list:", 1) == want }
		if !is(whole) || !is(stream) {
			t.Errorf("%s: %v, %v, want %s", text, whole, stream, want)
		}
	}
}
