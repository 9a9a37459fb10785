// Package live shows over HTTP what limits a running service.
package live
