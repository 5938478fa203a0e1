package pvelab

import (
	"regexp"
	"slices"
)

// deviation is a group of recordings that the lab answers otherwise on purpose.
type deviation struct {
	// version is "" for both.
	version, topic string
	numbers        []int
	why            string
}

// deviations must each hold: one that is answered alike after all fails the test.
var deviations = []deviation{}

func whyDifferent(version, topicID string, n int) string {
	for _, d := range deviations {
		if (d.version == "" || d.version == version) && d.topic == topicID && slices.Contains(d.numbers, n) {
			return d.why
		}
	}
	return ""
}

// omission is a group of endpoints that the lab does not serve.
type omission struct {
	endpoint *regexp.Regexp
	why      string
}

var omissions = []omission{
	{regexp.MustCompile(`.`), "not served yet"},
}

func whyUnserved(endpoint string) string {
	for _, o := range omissions {
		if o.endpoint.MatchString(endpoint) {
			return o.why
		}
	}
	return ""
}
