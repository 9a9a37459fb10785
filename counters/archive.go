package counters

const archiveFormat = 1

type quantumMeta struct{}
