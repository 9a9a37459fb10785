// Package icon provides the favicon of the pages of this module: a bottle.
//
// The icon is part of the page. Without it, a browser would request /favicon.ico from the server,
// whose program may not serve one. A page writes [Link] into its head and allows "img-src data:" in
// its content security policy; see internal/report/page.go and exporters/live/index.go.
package icon

// Link is the link element for a page's head. The blue is visible on light and dark tabs.
const Link = `<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E` +
	`%3Cpath fill='%233b82f6' d='M6 1h4v5l3 3v6H3V9l3-3z'/%3E%3C/svg%3E">`
