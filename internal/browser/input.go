package browser

import (
	"fmt"
	"strings"
)

// Point is a place in the window, in CSS pixels.
type Point struct{ X, Y float64 }

// Find scrolls the first element that a selector finds into view and returns the middle of it. It
// is an error if there is none, if it has no size, or if something else lies above it.
func (p *Page) Find(selector string) (Point, error) {
	var at struct {
		Point
		Trouble string
	}
	err := p.Eval(`(s => {
		const e = document.querySelector(s);
		if (!e) return {Trouble: "not found"};
		e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
		const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
		if (!r.width || !r.height) return {Trouble: "has no size"};
		const top = document.elementFromPoint(x, y);
		if (!top) return {Trouble: "is outside of the window"};
		if (!e.contains(top) && !top.contains(e)) return {Trouble: "is covered by " + top.outerHTML.slice(0, 200)};
		return {X: x, Y: y, Trouble: ""};
	})(`+quote(selector)+`)`, &at)
	if err == nil && at.Trouble != "" {
		err = fmt.Errorf("browser: %s %s", selector, at.Trouble)
	}
	return at.Point, err
}

// Click clicks in the middle of the first element that a selector finds.
func (p *Page) Click(selector string) error {
	at, err := p.Find(selector)
	if err != nil {
		return err
	}
	return p.ClickAt(at)
}

// ClickAt clicks at a place.
func (p *Page) ClickAt(at Point) error { return p.Drag(at, at) }

// Move moves the mouse, with no button pressed.
func (p *Page) Move(at Point) error { return p.mouse("mouseMoved", at, 0) }

// Drag presses the button at one place and releases it at another, in some steps.
func (p *Page) Drag(from, to Point) error {
	if err := p.Move(from); err != nil {
		return err
	}
	if err := p.mouse("mousePressed", from, 1); err != nil {
		return err
	}
	const steps = 6
	for i := 1; from != to && i <= steps; i++ {
		f := float64(i) / steps
		if err := p.mouse("mouseMoved", Point{from.X + f*(to.X-from.X), from.Y + f*(to.Y-from.Y)}, 1); err != nil {
			return err
		}
	}
	return p.mouse("mouseReleased", to, 0)
}

func (p *Page) mouse(kind string, at Point, pressed int) error {
	e := params{"type": kind, "x": at.X, "y": at.Y, "buttons": pressed, "button": "none"}
	if kind != "mouseMoved" || pressed > 0 {
		e["button"] = "left"
	}
	if kind != "mouseMoved" {
		e["clickCount"] = 1
	}
	return p.call("Input.dispatchMouseEvent", e, nil)
}

// Type types text into what has the focus.
func (p *Page) Type(text string) error {
	return p.call("Input.insertText", params{"text": text}, nil)
}

// Fill replaces the text of an input field, and presses Enter.
func (p *Page) Fill(selector, text string) error {
	if err := p.Click(selector); err != nil {
		return err
	}
	if err := p.Eval("document.activeElement.select()", nil); err != nil {
		return err
	}
	if text == "" {
		if err := p.Key("Delete"); err != nil {
			return err
		}
	} else if err := p.Type(text); err != nil {
		return err
	}
	return p.Key("Enter")
}

// keyCodes are the codes of keys that are not characters.
var keyCodes = map[string]int{
	"Enter": 13, "Tab": 9, "Escape": 27, "Delete": 46, "Backspace": 8, "Home": 36, "End": 35, "PageUp": 33, "PageDown": 34,
	"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32,
}

// modifiers are what may be held while a key is pressed.
var modifiers = map[string]int{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

// Key presses and releases a key, by its name in the DOM, such as "ArrowLeft", "Enter", " ", "a",
// with modifiers before it: "Shift+Tab", "Alt+ArrowRight".
func (p *Page) Key(name string) error {
	held := 0
	for {
		mod, rest, ok := strings.Cut(name, "+")
		if !ok || modifiers[mod] == 0 {
			break
		}
		held |= modifiers[mod]
		name = rest
	}
	text := ""
	switch {
	case name == "Enter":
		text = "\r"
	case len([]rune(name)) == 1:
		text = name
	case keyCodes[name] == 0:
		return fmt.Errorf("browser: unknown key %q", name)
	}
	code := keyCodes[name]
	if code == 0 {
		code = int(strings.ToUpper(name)[0])
	}
	e := params{"type": "rawKeyDown", "key": name, "code": name, "windowsVirtualKeyCode": code, "modifiers": held}
	if text != "" && held&^modifiers["Shift"] == 0 {
		e["type"], e["text"] = "keyDown", text
	}
	if err := p.call("Input.dispatchKeyEvent", e, nil); err != nil {
		return err
	}
	delete(e, "text")
	e["type"] = "keyUp"
	return p.call("Input.dispatchKeyEvent", e, nil)
}
