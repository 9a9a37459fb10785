package bottle

// Merge adds graphs of several instances of a program, or of several windows of one, into one graph.
func Merge(graphs ...*Graph) (*Graph, error) { return nil, errNotYet }
