package format

import (
	"encoding/json"
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
