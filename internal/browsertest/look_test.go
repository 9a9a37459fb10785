package browsertest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/report"
)

// With BOTTLENECK_LOOK=FOLDER, pages are written there as pictures for visual inspection.
func TestLook(t *testing.T) {
	folder := os.Getenv("BOTTLENECK_LOOK")
	if folder == "" {
		t.Skip("set BOTTLENECK_LOOK to a folder")
	}
	look := func(name string, d *report.Data, fragment string, w window) {
		p := openFile(t, d, fragment, w)
		p.settle()
		png, err := p.Screenshot(true)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, groups := range []int{3, 300} {
		for _, dark := range []bool{false, true} {
			for _, w := range []window{{Width: 360, Height: 800, Scale: 2}, {Width: 1280, Height: 900}, {Width: 3840, Height: 2160}} {
				w.Dark = dark
				look(fmt.Sprintf("%d-%d-%s", w.Width, groups, map[bool]string{false: "light", true: "dark"}[dark]), testData(groups, 200*groups), "", w)
			}
		}
	}
	big := window{Width: 1600, Height: 1200}
	look("usual", testData(5, 20000), "", big)
	look("selected", testData(5, 20000), "group=main.main&window=3&time=984000000-1312000000&color=duration&without=sync-mutex", big)
	look("windows", windowedData(t), "time=23000000-44000000", big)
}

// TestReadmePictures takes the pictures of the README: with BOTTLENECK_PAGE=FILE, those of a page
// of examples/warmup are written to the folder BOTTLENECK_LOOK. See docs/pictures.sh.
func TestReadmePictures(t *testing.T) {
	folder, page := os.Getenv("BOTTLENECK_LOOK"), os.Getenv("BOTTLENECK_PAGE")
	if folder == "" || page == "" {
		t.Skip("set BOTTLENECK_LOOK to a folder, and BOTTLENECK_PAGE to a page")
	}
	page, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	address := (&url.URL{Scheme: "file", Path: page}).String()
	const selected = "#x=heap_objects&y=task_clock&group=main.worker&ended=blocked"
	for name, fragment := range map[string]string{"light": selected, "dark": selected + "&color=task_clock"} {
		p := openURL(t, address+fragment, window{Width: 1400, Height: 1010, Dark: name == "dark"})
		if name == "dark" { // below the bar with the selection, which remains
			p.eval(`void scrollBy(0, document.querySelector("#counters-title").getBoundingClientRect().top - 70)`)
		}
		p.settle()
		png, err := p.Screenshot(false)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "report-"+name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
