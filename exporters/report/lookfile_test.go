package report

import (
	"os"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/browser"
)

// scratch: look at a file
func TestLookFile(t *testing.T) {
	name := os.Getenv("LOOKFILE")
	if name == "" {
		t.Skip()
	}
	p := openURL(t, "file://"+name+"#"+os.Getenv("LOOKHASH"), browser.Window{Width: 1600, Height: 1000, Dark: os.Getenv("LOOKDARK") != ""})
	p.wait(`document.documentElement.dataset.answered`)
	png, err := p.Screenshot(true)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(os.Getenv("LOOKOUT"), png, 0o644)
}
