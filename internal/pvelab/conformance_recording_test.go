package pvelab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedDir holds the recordings and the schema beside a checkout of this
// module, seen from this package.
const sharedDir = "../../../shared/pve"

// exchange is one genuine request to PVE and its answer.
type exchange struct {
	N              int               `json:"n"`
	Note           string            `json:"note"`
	Auth           string            `json:"auth"`
	Method         string            `json:"method"`
	Path           string            `json:"path"`
	Params         map[string]any    `json:"params"`
	RequestHeaders []string          `json:"request_headers"`
	RequestBody    *string           `json:"request_body_raw"`
	Multipart      formFields        `json:"multipart"`
	Status         int               `json:"status"`
	Reason         string            `json:"reason"`
	Headers        map[string]string `json:"headers"`
	Body           any               `json:"body"`
	BodyRaw        *string           `json:"body_raw"`
}

// formFields are a multipart body's fields in the recorded order.
type formFields []formField

// formField is a value, or a file of size bytes.
type formField struct {
	name, value string
	size        int
}

// UnmarshalJSON keeps the order, which PVE's parser minds.
func (f *formFields) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return err
		}
		field := formField{name: fmt.Sprint(name)}
		switch v := value.(type) {
		case string:
			field.value = v
		case map[string]any:
			size, _ := v["size"].(float64)
			field.size = int(size)
		}
		*f = append(*f, field)
	}
	return nil
}

// apiPath is the path below /api2/json.
func (e *exchange) apiPath() string { return strings.TrimPrefix(e.Path, "/api2/json") }

// topic is one file of recordings, in the order in which they were made.
type topic struct {
	id, name  string
	exchanges []*exchange
}

// loadTopics reads the recordings of a version, or skips the test where they
// are absent.
func loadTopics(t *testing.T, version string) []*topic {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sharedDir, "recordings", version, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no recordings of %s in %s: nothing to replay", version, sharedDir)
	}
	topics := make([]*topic, 0, len(files))
	for _, f := range files {
		topics = append(topics, loadTopic(t, f))
	}
	return topics
}

func loadTopic(t *testing.T, file string) *topic {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
	tp := &topic{id: name[:2], name: name}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		e := &exchange{}
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.UseNumber()
		if err := dec.Decode(e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		tp.exchanges = append(tp.exchanges, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return tp
}
