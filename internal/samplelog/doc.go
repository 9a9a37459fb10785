// Package samplelog packs the records of package perfevent into a stream of about six bytes each,
// which reads the same on every machine.
//
// A record is its kind in a byte; then the processor plus one, the thread and the time, both as the
// difference to the record before; then, by kind, what else there is:
//
//	Hit      the number of the event
//	Reading  the number of the group; Enabled; Running; how many values; the values
//	Lost     how many
//
// Numbers are varints as in encoding/binary, differences signed ones. Packing a record takes about
// 15 ns (BenchmarkAppend), unpacking 40 ns.
//
//	var e samplelog.Encoder
//	buf = e.Append(buf, &perfevent.Record{Kind: perfevent.Hit, Thread: 7, Time: 1000})
//	d := samplelog.NewDecoder(bytes.NewReader(buf))
//	for r := new(perfevent.Record); d.Next(r) == nil; {
//		fmt.Println(r.Thread, r.Time)
//	}
package samplelog
