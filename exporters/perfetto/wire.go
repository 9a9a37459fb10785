package perfetto

import "encoding/binary"

// message is a protobuf message that is being written. Of the format, a trace needs three wire
// types only: variable-length integers (0), 8 bytes (1) and strings of bytes (2). A field is its
// number and wire type, then the value.
type message []byte

func (m *message) integer(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) fixed(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|1)
	*m = binary.LittleEndian.AppendUint64(*m, v)
}

func (m *message) text(field int, s string) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(s)))
	*m = append(*m, s...)
}

func (m *message) embed(field int, sub message) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(sub)))
	*m = append(*m, sub...)
}

// The fields that are written, by the names of perfetto's trace_packet.proto,
// track_descriptor.proto, track_event.proto, interned_data.proto, debug_annotation.proto,
// process_descriptor.proto, thread_descriptor.proto and counter_descriptor.proto.
const (
	traceFieldPacket = 1

	packetTimestamp               = 8 // ns
	packetTrustedPacketSequenceID = 10
	packetTrackEvent              = 11
	packetInternedData            = 12
	packetSequenceFlags           = 13
	packetTrackDescriptor         = 60

	descriptorUuid       = 1
	descriptorName       = 2
	descriptorProcess    = 3
	descriptorThread     = 4
	descriptorParentUUID = 5
	descriptorCounter    = 8

	processPid  = 1
	processName = 6

	threadPid  = 1
	threadTid  = 2
	threadName = 5

	counterUnit = 3

	eventCategories         = 22
	eventCategoryIIDs       = 3
	eventDebugAnnotations   = 4
	eventType               = 9
	eventNameIID            = 10
	eventTrackUUID          = 11
	eventName               = 23
	eventCounterValue       = 30
	eventFlowIDs            = 47
	eventTerminatingFlowIDs = 48

	annotationNameIID   = 1
	annotationInt       = 4
	annotationString    = 6
	annotationStringIID = 17

	internedEventCategories             = 1
	internedEventNames                  = 2
	internedDebugAnnotationNames        = 3
	internedDebugAnnotationStringValues = 29

	internedNameIid  = 1 // of EventCategory, EventName, DebugAnnotationName and InternedString
	internedNameName = 2
)

// The values of TrackEvent.Type, of CounterDescriptor.Unit and of TracePacket.SequenceFlags.
const (
	typeSliceBegin = 1
	typeSliceEnd   = 2
	typeInstant    = 3
	typeCounter    = 4

	unitCount = 2
	unitBytes = 3

	flagStateCleared = 1
	flagNeedsState   = 2
)
