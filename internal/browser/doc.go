// Package browser drives a headless Chromium for tests: it opens a page, clicks, drags and types
// with real input events, and reads what is on the screen.
//
//	func TestPage(t *testing.T) {
//		b := browser.Test(t) // skips where there is no Chromium
//		defer b.Close()
//		p, err := b.Open(fileURL, browser.Window{Width: 1280, Height: 800})
//		…
//		err = p.Click("#play")
//		err = p.Wait(`document.querySelector("#time").textContent == "1 s"`)
//	}
//
// The browser is spoken to in the DevTools protocol over a pair of pipes, so that no port is
// opened and no other package is needed. Console errors, exceptions and violations of the page's
// content security policy are collected: see [Page.Errors].
//
// Starting Chromium takes about half a second and opening a page about 50 ms, on two shared cores.
package browser
