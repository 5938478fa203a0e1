package pvelab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// tokens are the texts that PVE makes up: task ids, digests, addresses, uuids,
// random file names and times inside strings.
var tokens = regexp.MustCompile(strings.Join([]string{
	`UPID:[^:\s]*:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:[^:\s]*:[^:\s]*:[^:\s]*:`,
	`\b(?:[0-9A-F]{2}:){31}[0-9A-F]{2}\b`,
	`\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b`,
	`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`,
	`\b[0-9a-f]{64}\b`,
	`\b[0-9a-f]{40}\b`,
	`\bpveupload-[0-9a-f]{32}\b`,
	`\bctime=[0-9]+\b`,
	`\bfe80::[0-9a-f:]+\b`,
	`\$5\$[^$]+\$[./0-9A-Za-z]+`,
}, "|"))

// bindings pair what the recorded PVE made up with what the lab made up. A pair
// holds for the whole topic and in both directions: a digest that stayed the same
// must stay the same, one that changed must change.
type bindings struct {
	toLab, toRecord map[string]string
}

func newBindings() *bindings {
	b := &bindings{toLab: map[string]string{}, toRecord: map[string]string{}}
	sum := sha256.Sum256(make([]byte, uploadSize))
	own := hex.EncodeToString(sum[:])
	b.toLab[uploadSum], b.toRecord[own] = own, uploadSum
	return b
}

// uploadSize and uploadSum are the bytes and the SHA-256 of the file that the
// recorder uploaded. The test uploads zeroes instead.
const (
	uploadSize = 332775
	uploadSum  = "1af28e5ef0e579ad8a74161b70d46e09d0f901c0bd070392db459a7450d3c139"
)

// emptySHA1 is the digest of an absent file, on every PVE the same.
const emptySHA1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709"

// same reports whether two texts are equal but for made-up tokens.
func (b *bindings) same(want, got string) bool {
	w, g := tokens.FindAllString(want, -1), tokens.FindAllString(got, -1)
	if len(w) != len(g) || tokens.ReplaceAllString(want, "\x00") != tokens.ReplaceAllString(got, "\x00") {
		return false
	}
	ok := true
	for i := range w {
		ok = b.bind(w[i], g[i]) && ok
	}
	return ok
}

func (b *bindings) bind(want, got string) bool {
	if strings.HasPrefix(want, "ctime=") {
		return strings.HasPrefix(got, "ctime=")
	}
	if want == emptySHA1 || got == emptySHA1 {
		return want == got
	}
	if !sameShape(want, got) {
		return false
	}
	if lab, ok := b.toLab[want]; ok {
		return lab == got
	}
	if _, ok := b.toRecord[got]; ok {
		return false
	}
	b.toLab[want], b.toRecord[got] = got, want
	if low := strings.ToLower(want); strings.Count(want, ":") == 5 && low != want {
		b.toLab[low], b.toRecord[strings.ToLower(got)] = strings.ToLower(got), low
	}
	return true
}

// sameShape reports whether two tokens are of one kind; of two task ids whether
// they name the same node, type, object and user.
func sameShape(want, got string) bool {
	if strings.HasPrefix(want, "fe80:") {
		return strings.HasPrefix(got, "fe80:")
	}
	if !strings.HasPrefix(want, "UPID:") {
		return len(want) == len(got) && strings.Count(want, ":") == strings.Count(got, ":")
	}
	w, g := strings.Split(want, ":"), strings.Split(got, ":")
	if len(w) != len(g) {
		return false
	}
	for _, i := range []int{0, 1, 5, 6, 7} {
		if w[i] != g[i] {
			return false
		}
	}
	return true
}

// known reports whether the recorded token was seen in an answer of the lab.
func (b *bindings) known(recorded string) bool { _, ok := b.toLab[recorded]; return ok }

// translate puts the lab's tokens into a recorded text. Tokens that a request
// brings stand for themselves from then on.
func (b *bindings) translate(recorded string) string {
	return tokens.ReplaceAllStringFunc(recorded, func(tok string) string {
		if lab, ok := b.toLab[tok]; ok {
			return lab
		}
		if !strings.HasPrefix(tok, "UPID:") && !strings.HasPrefix(tok, "ctime=") {
			b.toLab[tok], b.toRecord[tok] = tok, tok
		}
		return tok
	})
}

// peek translates a recorded text without binding anything.
func (b *bindings) peek(recorded string) string {
	return tokens.ReplaceAllStringFunc(recorded, func(tok string) string {
		if lab, ok := b.toLab[tok]; ok {
			return lab
		}
		return tok
	})
}

// translatePath translates a path segment by segment and keeps its encoding.
func (b *bindings) translatePath(path string) string {
	segs := strings.Split(path, "/")
	for i, seg := range segs {
		plain, err := url.PathUnescape(seg)
		if err != nil {
			continue
		}
		lab := b.translate(plain)
		if lab == plain {
			continue
		}
		segs[i] = lab
		if plain != seg {
			segs[i] = url.QueryEscape(lab)
		}
	}
	return strings.Join(segs, "/")
}

// upidIn returns the task id in a path, or "".
func upidIn(path string) string {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return ""
	}
	tok := tokens.FindString(plain)
	if !strings.HasPrefix(tok, "UPID:") {
		return ""
	}
	return tok
}

// describe shortens a value for a message.
func describe(v any) string {
	s := fmt.Sprintf("%v", v)
	if str, ok := v.(string); ok {
		s = fmt.Sprintf("%q", str)
	}
	if v == nil {
		s = "null"
	}
	const most = 160
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
