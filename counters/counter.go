package counters

// Counter returns the counter with the name, or nil.
func (r *Recording) Counter(name string) *Counter {
	for i := range r.Counters {
		if r.Counters[i].Name == name {
			return &r.Counters[i]
		}
	}
	return nil
}
