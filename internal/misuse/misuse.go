// Package misuse has the error of a command that is used in a wrong way.
package misuse

import "fmt"

// Error is an error in the arguments or flags of a command.
type Error struct{ msg string }

func (e *Error) Error() string { return e.msg }

// Errorf returns an [*Error].
func Errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
