package pvelab

import "encoding/json"

// property is a schema of PVE's: of a parameter, of an object, or of one key of
// a property string.
type property struct {
	Type       json.RawMessage      `json:"type"`
	Properties map[string]*property `json:"properties"`
	Items      *property            `json:"items"`
	Optional   flexInt              `json:"optional"`
	Format     json.RawMessage      `json:"format"`
	Pattern    string               `json:"pattern"`
	Enum       []string             `json:"enum"`
	Requires   json.RawMessage      `json:"requires"`
	DefaultKey flexInt              `json:"default_key"`
	Alias      string               `json:"alias"`
	KeyAlias   string               `json:"keyAlias"`
}

type flexInt int
