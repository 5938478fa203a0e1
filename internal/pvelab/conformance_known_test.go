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

const (
	noBackups = "it shows a backup, or what became of it"
)

// deviations must each hold: one that is answered alike after all fails the test.
var deviations = []deviation{
	{"", "11", []int{109, 110, 111, 113, 114, 116, 119, 122}, noBackups},
}

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

func omit(endpoint, why string) omission {
	return omission{regexp.MustCompile(`^\w+ ` + endpoint), why}
}

// omissions, first match wins.
var omissions = []omission{
	omit(`/(cluster/backup|nodes/{node}/vzdump|.*/prunebackups$)`, "the lab makes no backups"),
	omit(`.*/(download-url|query-url-metadata)$`, "it would reach out of the lab"),
	omit(`.*/import-metadata$`, "the lab reads no foreign disk formats"),
	omit(`.*/(vncproxy|monitor|sendkey|vncwebsocket|spiceproxy|termproxy)$`, "the lab's guests have no console"),
	omit(`.*/rrddata$`, "the lab keeps no history of loads"),
	omit(`.*/agent/set-user-password$`, "the lab's guests have no accounts"),
	omit(`/cluster/`, "administration of the cluster beyond guests, storages and access"),
	omit(`/nodes/{node}/`, "administration of the node itself"),
}

func whyUnserved(endpoint string) string {
	for _, o := range omissions {
		if o.endpoint.MatchString(endpoint) {
			return o.why
		}
	}
	return ""
}
