package pvelab

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// maxUpload is the largest file that the lab takes: it keeps files in memory.
const maxUpload = 1 << 30

// upload is the file of a multipart request.
type upload struct {
	filename string
	content  []byte
}

// uploadParser reads a multipart body as pveproxy does: content,
// checksum-algorithm and checksum in this order, then the file.
type uploadParser struct {
	server *server
	rest   []byte
	delim  string
	params map[string]any
}

func (e *endpoint) readUpload(req *http.Request) (map[string]any, *upload, *response) {
	typ, args, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || typ != "multipart/form-data" || args["boundary"] == "" {
		return nil, nil, died("upload 'Content-Type '" + req.Header.Get("Content-Type") + "' not implemented")
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxUpload))
	if err != nil {
		return nil, nil, &response{fate: fateDrop}
	}
	boundary := regexp.QuoteMeta(args["boundary"])
	p := &uploadParser{server: e.server, rest: body, delim: `--` + boundary + `\r?\n`, params: map[string]any{}}
	if resp := p.fields(); resp != nil {
		return nil, nil, resp
	}
	name, resp := p.file()
	if resp != nil {
		return nil, nil, resp
	}
	content, _, ended := bytes.Cut(p.rest, []byte("--"+args["boundary"]+"--"))
	if !ended || name == "" {
		return nil, nil, died("upload failed" + e.server.lab.perlLine(lineUploadFailed))
	}
	p.params["filename"] = name
	return p.params, &upload{filename: name, content: withoutNewline(content)}, nil
}

// perlLine is where PVE's HTTP server died, which is part of some texts.
type perlLine struct{ in9, in8 string }

var (
	lineDecodeJSON   = perlLine{"934", "917"}
	lineFieldName    = perlLine{"1325", "1281"}
	lineUploadFailed = perlLine{"1370", "1317"}
)

func (l *Lab) perlLine(at perlLine) string {
	line := at.in9
	if l.is8() {
		line = at.in8
	}
	return " at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line " + line + "."
}

// died is how pveproxy answers when reading a request fails: the text, and no
// body where it has a carriage return.
func died(text string) *response {
	first, _, _ := strings.Cut(text, "\n")
	if strings.Contains(first, "\r") {
		return bare(http.StatusBadRequest, http.StatusText(http.StatusBadRequest))
	}
	return &response{status: http.StatusInternalServerError, reason: first, body: []byte(text + "\n")}
}

// withoutNewline drops the newline that belongs to the boundary.
func withoutNewline(content []byte) []byte {
	return bytes.Clone(bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r")))
}

// headSize is how much of the body the form's fields are looked for in.
const headSize = 64 << 10

func (p *uploadParser) head() []byte { return p.rest[:min(len(p.rest), headSize)] }

func (p *uploadParser) fields() *response {
	if at := regexp.MustCompile(p.delim).FindIndex(p.head()); at != nil {
		p.rest = p.rest[at[0]:]
	}
	for _, name := range []string{"content", "checksum-algorithm", "checksum"} {
		if resp := p.field(name); resp != nil {
			return resp
		}
	}
	return nil
}

// field takes one form field off the front; what comes before it is lost.
func (p *uploadParser) field(name string) *response {
	re := regexp.MustCompile(`(?s)^` + p.delim + `.*?Content-Disposition: (.*?); name="` + name + `"(.*?` + p.delim + `)`)
	m := re.FindSubmatchIndex(p.head())
	if m == nil {
		return nil
	}
	if resp := formData(string(p.rest[m[2]:m[3]])); resp != nil {
		return resp
	}
	p.rest = afterHeaders(p.rest[m[4]:])
	at := regexp.MustCompile(p.delim).FindIndex(p.head())
	if at == nil {
		return nil
	}
	p.params[name] = strings.TrimSpace(string(p.rest[:at[0]]))
	p.rest = p.rest[at[0]:]
	return nil
}

func (p *uploadParser) file() (string, *response) {
	re := regexp.MustCompile(`(?s)^` + p.delim + `Content-Disposition: (.*?); name="(.*?)"; filename="([^"]+)"`)
	m := re.FindSubmatch(p.head())
	if m == nil {
		return "", nil
	}
	if resp := formData(string(m[1])); resp != nil {
		return "", resp
	}
	if field := string(m[2]); field != "filename" {
		return "", died("wrong field name '" + field + "' for file upload, expected 'filename'" +
			p.server.lab.perlLine(lineFieldName))
	}
	p.rest = afterHeaders(p.rest[len(m[0]):])
	return strings.TrimSpace(string(m[3])), nil
}

func formData(disposition string) *response {
	if disposition == "form-data" {
		return nil
	}
	return died("wrong Content-Disposition '" + disposition + "' in multipart, expected 'form-data'")
}

var blankLineRE = regexp.MustCompile(`(?:\r?\n){2}`)

// afterHeaders drops the headers of a part.
func afterHeaders(b []byte) []byte {
	if at := blankLineRE.FindIndex(b[:min(len(b), headSize)]); at != nil {
		return b[at[1]:]
	}
	return b
}
