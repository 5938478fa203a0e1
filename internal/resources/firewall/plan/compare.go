package plan

import (
	"net/netip"
	"strconv"
	"strings"
)

// effect is what a change in place does to the traffic.
type effect int

const (
	// neutral changes nothing but what is written or logged.
	neutral effect = iota
	// arrives makes a rule effective that was not, leaves the other way round.
	arrives
	leaves
	// tighter refuses more or allows less, looser the other way round.
	tighter
	looser
	// hard may do both.
	hard
)

// change tells what it does to put a rule in the place of another.
func change(old, want Rule, o Options) effect {
	switch {
	case sameEffect(old, want):
		return neutral
	case !old.Enabled:
		return arrives
	case !want.Enabled:
		return leaves
	case o.Exact || old.Type == typeGroup || want.Type == typeGroup:
		return hard
	}
	wasAccept, accepts := old.Action == accept, want.Action == accept
	narrower, wider := covers(old, want), covers(want, old)
	switch {
	case wasAccept && !accepts:
		return tighter
	case accepts && !wasAccept:
		return looser
	case narrower && wider:
		return neutral
	case accepts && narrower, !accepts && wider:
		return tighter
	case accepts && wider, !accepts && narrower:
		return looser
	}
	return hard
}

const (
	accept    = "ACCEPT"
	typeGroup = "group"
)

// sameEffect reports whether two rules do the same to traffic.
func sameEffect(a, b Rule) bool {
	if !a.Enabled && !b.Enabled {
		return true
	}
	a.Comment, b.Comment = "", ""
	a.LogLevel, b.LogLevel = "", ""
	return a == b
}

// shift tells what it does to take a rule to another place.
func shift(rule Rule, down bool, o Options) effect {
	switch {
	case !rule.Enabled:
		return neutral
	case o.Exact || rule.Type == typeGroup:
		return hard
	case (rule.Action == accept) == down:
		return tighter
	}
	return looser
}

// covers reports whether a rule is known to match all that another one does,
// whatever they do with it.
func covers(wide, narrow Rule) bool {
	if wide.Type != narrow.Type || !blankOr(wide.Interface, narrow.Interface, equal) {
		return false
	}
	if !blankOr(wide.Source, narrow.Source, networksCover) || !blankOr(wide.Destination, narrow.Destination, networksCover) {
		return false
	}
	if wide.Macro != narrow.Macro {
		return wide.Macro == "" && wide.Protocol == "" && narrow.Macro != ""
	}
	if wide.Macro != "" {
		return wide.Protocol == narrow.Protocol && wide.SourcePort == narrow.SourcePort &&
			wide.DestinationPort == narrow.DestinationPort && wide.ICMPType == narrow.ICMPType
	}
	return blankOr(wide.Protocol, narrow.Protocol, equal) && blankOr(wide.ICMPType, narrow.ICMPType, equal) &&
		blankOr(wide.SourcePort, narrow.SourcePort, portsCover) && blankOr(wide.DestinationPort, narrow.DestinationPort, portsCover)
}

func equal(a, b string) bool { return a == b }

// blankOr compares two restrictions; none is wider than any.
func blankOr(wide, narrow string, cover func(wide, narrow string) bool) bool {
	return wide == "" || wide == narrow || narrow != "" && cover(wide, narrow)
}

// networksCover reports whether each address or network of the narrow list lies
// in one of the wide list. Names and ranges are not known to.
func networksCover(wide, narrow string) bool {
	return each(narrow, func(item string) bool {
		inner, ok := network(item)
		return ok && some(wide, func(item string) bool {
			outer, ok := network(item)
			return ok && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
		})
	})
}

func network(text string) (netip.Prefix, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil
}

// portsCover reports whether each port or range of the narrow list lies in one
// of the wide list. A name is only known to be itself.
func portsCover(wide, narrow string) bool {
	return each(narrow, func(inner string) bool {
		first, last, numeric := portRange(inner)
		return some(wide, func(outer string) bool {
			low, high, ok := portRange(outer)
			return inner == outer || numeric && ok && low <= first && last <= high
		})
	})
}

func portRange(text string) (first, last int, ok bool) {
	low, high, isRange := strings.Cut(text, ":")
	if !isRange {
		high = low
	}
	first, err := strconv.Atoi(low)
	if err != nil {
		return 0, 0, false
	}
	last, err = strconv.Atoi(high)
	return first, last, err == nil
}

func each(list string, holds func(string) bool) bool {
	return !some(list, func(item string) bool { return !holds(item) })
}

func some(list string, holds func(string) bool) bool {
	for _, item := range strings.Split(list, ",") {
		if holds(item) {
			return true
		}
	}
	return false
}
