// This file is here so that the compiler allows the functions without bodies in
// fastpath_go126.go.
