package contention

import "slices"

// stackNumbers numbers call chains by what is in them; 0 is none.
type stackNumbers struct {
	byStack map[*Stack]int
	byHash  map[uint64][]int
	first   []*Stack // by number
}

func (s *stackNumbers) of(st *Stack) int {
	if len(s.first) == 0 {
		s.first = append(s.first, nil)
	}
	if st == nil {
		return 0
	}
	if n, ok := s.byStack[st]; ok {
		return n
	}
	h := st.hash()
	for _, n := range s.byHash[h] {
		if sameCalls(s.first[n], st) {
			s.byStack[st] = n
			return n
		}
	}
	n := len(s.first)
	s.first = append(s.first, st)
	s.byHash[h] = append(s.byHash[h], n)
	s.byStack[st] = n
	return n
}

// same returns the first call chain that is the same.
func (s *stackNumbers) same(st *Stack) *Stack {
	n := s.of(st)
	return s.first[n]
}

func (s *Stack) hash() uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range s.Frames {
		f := &s.Frames[i]
		for j := range len(f.Func) {
			h = (h ^ uint64(f.Func[j])) * prime
		}
		h = (h ^ uint64(f.Line)) * prime
	}
	return h
}

func sameCalls(a, b *Stack) bool {
	return a.Truncated == b.Truncated && slices.EqualFunc(a.Frames, b.Frames, func(x, y Frame) bool {
		return x.Line == y.Line && x.Func == y.Func && x.File == y.File
	})
}
