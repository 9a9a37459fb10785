package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON writes the control and formatting characters that JSON allows in strings as \u
// escapes. Names come from the observed program, and JSON is also printed on terminals, which must
// not interpret control characters in a name.
func EscapeJSON(b []byte) []byte {
	hostile := func(r rune) bool { return r > '~' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }
	if bytes.IndexFunc(b, hostile) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case !hostile(r):
			out = append(out, b[:size]...)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[size:]
	}
	return out
}

// WriteJSON writes v as indented JSON, without characters that [EscapeJSON] escapes. Errors begin
// with the name of a package.
func WriteJSON(w io.Writer, pkg string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		_, err = w.Write(append(EscapeJSON(b), '\n'))
	}
	if err != nil {
		return fmt.Errorf("%s: writing JSON: %w", pkg, err)
	}
	return nil
}

// ExplainJSON rewords an encoding/json error for an input that should be an object with these
// members. Other errors are returned unchanged.
func ExplainJSON(err error, members string) error {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	cut := errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input" // from Unmarshal
	switch {
	case err == io.EOF, cut && syntax.Offset == 0:
		return errors.New("the input is empty")
	case cut, errors.Is(err, io.ErrUnexpectedEOF): // from a Decoder
		return errors.New("the input ends inside the object")
	case errors.As(err, &wrongType) && wrongType.Field == "":
		return fmt.Errorf("expected an object with %s, found a JSON %s", members, wrongType.Value)
	case errors.As(err, &wrongType):
		return fmt.Errorf("%s: expected %s, found a JSON %s", wrongType.Field, jsonType(wrongType.Type), wrongType.Value)
	}
	return err
}

// jsonType returns the name of a Go type in JSON.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return t.Kind().String()
}
