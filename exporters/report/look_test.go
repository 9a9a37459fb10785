package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/browser"
)

// With BOTTLENECK_LOOK=FOLDER, pages are written there as pictures for people to look at.
func TestLook(t *testing.T) {
	folder := os.Getenv("BOTTLENECK_LOOK")
	if folder == "" {
		t.Skip("set BOTTLENECK_LOOK to a folder")
	}
	for _, look := range []struct {
		name, fragment string
		groups, rows   int
		window         browser.Window
	}{
		{"light", "", 5, 20000, browser.Window{Width: 1600, Height: 1200}},
		{"dark", "", 5, 20000, browser.Window{Width: 1600, Height: 1200, Dark: true}},
		{"narrow", "", 5, 2000, browser.Window{Width: 360, Height: 800, Scale: 2}},
		{"4k", "", 300, 60000, browser.Window{Width: 3840, Height: 2160}},
		{"three", "", 3, 200, browser.Window{Width: 1280, Height: 900}},
		{"many", "", 300, 60000, browser.Window{Width: 1280, Height: 900, Dark: true}},
		{"selected", "group=main.main&window=3&time=984000000-1312000000&color=duration&without=sync-mutex", 5, 20000, browser.Window{Width: 1600, Height: 1200}},
	} {
		p := openFile(t, testData(look.groups, look.rows), look.fragment, look.window)
		p.settle()
		png, err := p.Screenshot(true)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, look.name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
