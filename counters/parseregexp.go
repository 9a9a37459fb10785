package counters

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const maxRegexp = 1000

// compileRegexp compiles a regular expression of those that Go and JavaScript (with the flag u)
// read alike, so that a filter means the same on the page and in the command.
func compileRegexp(text string) (*regexp.Regexp, error) {
	if len(text) > maxRegexp {
		return nil, errors.New("the regular expression is longer than 1000 bytes")
	}
	if err := checkShared(strings.TrimPrefix(text, "(?i)")); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// checkShared refuses what only one of the two understands, or both in different ways.
func checkShared(text string) error {
	class, start := false, 0 // within [ ], and where that began
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch c := text[i]; {
		case c == '\\':
			if len(rest) < 2 || !strings.ContainsRune(`dDwWsStnrfv^$\.*+?()[]{}|/`, rune(rest[1])) && (rest[1] != 'b' && rest[1] != 'B' || class) && (rest[1] != '-' || !class) {
				return fmt.Errorf(`regular expression: the escape %s is not supported`, quote(rest[:min(len(rest), 2)]))
			}
			if rest[1] == '/' {
				return errors.New(`regular expression: write / without a \`)
			}
			i++
		case class && c == '[':
			return errors.New(`regular expression: write \[ within a class`)
		case class && c == ']':
			if i == start {
				return errors.New("regular expression: a class is empty")
			}
			class = false
		case class:
		case c == '[':
			class = true
			if strings.HasPrefix(rest, "[^") {
				i++
			}
			start = i + 1
		case c == ']' || c == '}':
			return fmt.Errorf(`regular expression: write \%c`, c)
		case c == '{':
			n := repetition.FindString(rest)
			if n == "" {
				return errors.New(`regular expression: write \{`)
			}
			i += len(n) - 1
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:"):
			return errors.New("regular expression: of (?…) only (?:…) is supported, and (?i) at the very beginning")
		}
	}
	return nil
}

var repetition = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)
