// Package flags has the syntax of the command's flags, and those that several commands have.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// Misuse is an error in the arguments or flags of a command.
type Misuse struct{ msg string }

func (e *Misuse) Error() string { return e.msg }

// Errorf returns a [*Misuse].
func Errorf(format string, args ...any) error { return &Misuse{fmt.Sprintf(format, args...)} }

// Choices is the annotation of a flag with the words that it accepts.
const Choices = "choices"

// Complete registers the words with cobra, which keeps them forever.
func Complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if words := f.Annotations[Choices]; words != nil {
				c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
			}
		})
	}
}

// cutFlag splits an argument such as -top=3; the name is "" if it is not a flag.
func cutFlag(arg string) (name string, joined bool) {
	name, flag := strings.CutPrefix(arg, "-")
	if name, _, joined = strings.Cut(strings.TrimPrefix(name, "-"), "="); !flag || strings.HasPrefix(name, "-") {
		return "", false
	}
	return name, joined
}

// Of returns the flag to which an argument refers, or nil.
func Of(c *cobra.Command, arg string) *pflag.Flag {
	name, _ := cutFlag(arg)
	if len(name) == 1 {
		return c.Flags().ShorthandLookup(name)
	}
	return c.Flags().Lookup(name)
}

// DoubleDashes converts flags to the syntax of package pflag: -format to --format, and --o to -o.
// The documentation follows package flag, which accepts one dash or two.
func DoubleDashes(c *cobra.Command, args []string) []string {
	out := slices.Clone(args)
	for i := 0; i < len(out) && out[i] != "--"; i++ {
		name, joined := cutFlag(out[i])
		if name == "" {
			continue
		}
		f := Of(c, out[i])
		out[i] = strings.TrimLeft(out[i], "-")
		switch {
		case f != nil && joined: // -o= has an empty value
			out[i] = "--" + f.Name + strings.TrimPrefix(out[i], name)
		case len(name) == 1:
			out[i] = "-" + out[i]
		default:
			out[i] = "--" + out[i]
		}
		if f != nil && f.NoOptDefVal == "" && !joined {
			i++ // its value
		}
	}
	return out
}

// shortest returns the name of a flag for messages.
func shortest(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return f.Shorthand
	}
	return f.Name
}

// wanted describes the values of flags by type.
var wanted = map[string]string{"bool": "true or false, or nothing", "int": "a whole number", "duration": "a duration, such as 500ms"}

// Error returns the error for an invalid flag, with a suggestion.
func Error(c *cobra.Command, err error) error {
	var usage *Misuse
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &usage):
		return usage
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, shortest(f)) })
		if near := spelling.Nearest(name, names); near != "" && len(name) > 1 {
			return Errorf("unknown flag -%s; did you mean -%s?", name, near)
		}
		var others []string
		for _, other := range c.Root().Commands() {
			if Of(other, "-"+name) != nil {
				others = append(others, other.Name())
			}
		}
		if others != nil {
			return Errorf("unknown flag -%s; it is a flag of %s", name, strings.Join(others, ", "))
		}
		return Errorf("unknown flag -%s", name)
	case errors.As(err, &lacking):
		return Errorf("flag needs an argument: -%s", lacking.GetSpecifiedName())
	case errors.As(err, &wrong):
		value, why := wrong.GetValue(), wrong.Unwrap().Error()
		if value == "" || strings.ContainsAny(value, " \t\"") {
			value = strconv.Quote(value)
		}
		if want := wanted[wrong.GetFlag().Value.Type()]; want != "" {
			why = "want " + want
		}
		return Errorf("-%s %s: %s", shortest(wrong.GetFlag()), value, why)
	}
	return Errorf("%v", err)
}
