// Package format formats numbers and names the same way in every picture, table and report of this
// module: "640 ms", "20%", "3.84", "1,371", "pgzip.(*Writer).compressBlock".
//
// Nothing here fails: a value that cannot be shown (a share of nothing, an unknown parallelism) is
// an en dash, and hostile text is sanitized.
package format

// Unknown represents a number that does not exist or is unknown.
const Unknown = "–"
