package seed

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// InputError is what is wrong with a file of a seed. It never repeats values of
// the file, which may be secret.
type InputError struct {
	// Line is the line that is wrong, from 1 on; 0 stands for the whole file.
	Line int
	// Problem says what is wrong, Remedy what to do about it; a remedy may be
	// empty.
	Problem, Remedy string
}

func (e *InputError) Error() string {
	text := e.Problem
	if e.Line > 0 {
		text = fmt.Sprintf("line %d: %s", e.Line, text)
	}
	if e.Remedy != "" {
		text += ". " + e.Remedy
	}
	return text
}

const cloudConfig = "#cloud-config"

// headers are the beginnings by which cloud-init tells the kinds of user data
// apart, in lower case as it compares them.
var headers = []string{
	"#!", "#cloud-config-jsonp", "#cloud-boothook", "#part-handler",
	"#include-once", "#include", "## template: jinja", "#upstart-job", "content-type: multipart/", "mime-version:",
}

// CheckUserData checks user data: its header and, of a cloud-config, its YAML.
// Empty user data is fine.
func CheckUserData(content string) error {
	trimmed := strings.TrimSpace(content)
	if trimmed == "" {
		return nil
	}
	first, _, _ := strings.Cut(trimmed, "\n")
	first = strings.TrimSpace(first)
	switch lower := strings.ToLower(trimmed); {
	case strings.HasPrefix(lower, cloudConfig+"-archive"):
		_, err := document(content)
		return err
	case slices.ContainsFunc(headers, func(header string) bool { return strings.HasPrefix(lower, header) }):
		return nil
	case strings.EqualFold(first, cloudConfig):
		return checkMapping(content)
	case strings.HasPrefix(lower, cloudConfig) || strings.HasPrefix(lower, "# cloud-config"):
		return &InputError{
			Line: lineOf(content, trimmed), Problem: "the header is not exactly " + cloudConfig,
			Remedy: "cloud-init takes the first line as it stands, without blanks or further words",
		}
	}
	return &InputError{
		Line: lineOf(content, trimmed), Problem: "there is no header that cloud-init knows, so that it would ignore the user data",
		Remedy: "Begin with " + cloudConfig + ", or with #! for a script, #include, #cloud-boothook, #part-handler, #cloud-config-archive, " +
			"## template: jinja, or the MIME headers of a multipart message",
	}
}

// CheckVendorData checks vendor data, which is of the same kinds.
func CheckVendorData(content string) error { return CheckUserData(content) }

// lineOf is the line on which the first text of a content is.
func lineOf(content, trimmed string) int {
	before, _, _ := strings.Cut(content, trimmed)
	return 1 + strings.Count(before, "\n")
}

// CheckMetaData checks meta data: YAML that names an instance.
func CheckMetaData(content string) error {
	root, err := mapping(content)
	if err != nil {
		return err
	}
	id := valueOf(root, "instance-id")
	if id == nil || id.Kind != yaml.ScalarNode || id.Value == "" {
		return &InputError{Problem: "there is no instance-id", Remedy: "cloud-init accepts a seed only with one"}
	}
	return nil
}

// CheckNetworkConfig checks a network configuration: YAML of version 1 or 2, at
// the top or below "network".
func CheckNetworkConfig(content string) error {
	root, err := mapping(content)
	if err != nil {
		return err
	}
	if below := valueOf(root, "network"); below != nil {
		root = below
	}
	version := valueOf(root, "version")
	if version == nil {
		return &InputError{Problem: "there is no version", Remedy: "Begin with version: 2, as netplan does"}
	}
	if version.Value != "1" && version.Value != "2" {
		return &InputError{Line: version.Line, Problem: "the version is neither 1 nor 2"}
	}
	return nil
}

func checkMapping(content string) error {
	_, err := mapping(content)
	return err
}

// document parses one YAML document; nil is an empty one.
func document(content string) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(content), &document); err != nil {
		return nil, syntaxError(err)
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	return document.Content[0], nil
}

// mapping parses a document that is a mapping, and returns it; an empty document
// is an empty mapping.
func mapping(content string) (*yaml.Node, error) {
	root, err := document(content)
	if err != nil {
		return nil, err
	}
	if root == nil || root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &InputError{Line: root.Line, Problem: "it is not a mapping: keys with values are expected"}
	}
	return root, nil
}

func valueOf(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

var (
	yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	// yamlAnchor is the one word of the file that the parser repeats.
	yamlAnchor = regexp.MustCompile(`anchor '[^']*'`)
)

func syntaxError(err error) error {
	text := err.Error()
	problem := &InputError{}
	if match := yamlLine.FindStringSubmatch(text); match != nil {
		text = strings.TrimPrefix(text, match[0])
		if line, convErr := strconv.Atoi(match[1]); convErr == nil {
			problem.Line = line
		}
	}
	problem.Problem = "it is not YAML: " + yamlAnchor.ReplaceAllString(text, "anchor")
	return problem
}
