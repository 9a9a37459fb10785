// Package format writes numbers and names the way every picture, table and
// report of this module shows them, so that the same box reads the same
// everywhere: "640 ms", "20%", "3.84", "1,371", "pgzip.(*Writer).compressBlock".
//
// Nothing here fails: what cannot be shown (a share of nothing, a parallelism
// that is not known) is an en dash, and hostile text comes out harmless.
package format

// Unknown stands for a number that does not exist or is not known.
const Unknown = "–"
