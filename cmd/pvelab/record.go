package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"terraform-provider-proxmox/internal/pvelab"
)

// recording compares a lab with a real node: both are asked the same.
type recording struct {
	out  io.Writer
	real subject
	lab  subject
	same int
	// differing are the requests with differences, skipped those that lack a
	// parameter's value.
	differing, skipped int
	// keep receives both answers of each request, if it is there.
	keep *json.Encoder
}

// subject is what is asked, and what stands for the parameters in its paths.
type subject struct {
	endpoint, token string
	client          *http.Client
	values          map[string]string
}

// newSubject trusts the system's roots where there is no CA.
func newSubject(endpoint, tokenID, secret string, ca []byte, values map[string]string) (subject, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(ca) > 0 {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(ca) {
			return subject{}, errors.New("the CA holds no certificate")
		}
	}
	return subject{
		endpoint: strings.TrimSuffix(endpoint, "/"), token: "PVEAPIToken=" + tokenID + "=" + secret,
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: settings}, Timeout: time.Minute}, values: values,
	}, nil
}

// record asks the node of the environment and a lab of its version all that the lab
// answers to GET, and lists where the answers' forms differ. It changes nothing.
func record(ctx context.Context, args []string, getenv func(string) string, out, messages io.Writer) (err error) {
	flags := flag.NewFlagSet("pvelab record", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(messages, "pvelab record [--out FILE]: compares the lab with the node of PROXMOX_ENDPOINT, PROXMOX_TOKEN_ID,\n"+
			"PROXMOX_TOKEN_SECRET, PROXMOX_CA_FILE, PROXMOX_NODE and PROXMOX_TEMPLATE_VMID. It only reads.")
		flags.PrintDefaults()
	}
	file := flags.String("out", "", "file for both answers of each request, a line of JSON each")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &recording{out: out}
	if r.real, err = realNode(getenv); err != nil {
		return err
	}
	version, err := r.real.version(ctx)
	if err != nil {
		return err
	}
	lab, err := pvelab.New(pvelab.Options{Version: version, Nodes: []string{"pve1"}, Standalone: true})
	if err != nil {
		return err
	}
	if err := lab.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	if r.lab, err = labNode(lab); err != nil {
		return err
	}
	if *file != "" {
		kept, createErr := os.OpenFile(*file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if createErr != nil {
			return createErr
		}
		defer func() { err = errors.Join(err, kept.Close()) }()
		r.keep = json.NewEncoder(kept)
	}
	return r.run(ctx, version, lab.Reads())
}

func realNode(getenv func(string) string) (subject, error) {
	var missing []string
	for _, name := range []string{"PROXMOX_ENDPOINT", "PROXMOX_TOKEN_ID", "PROXMOX_TOKEN_SECRET", "PROXMOX_NODE", "PROXMOX_TEMPLATE_VMID"} {
		if getenv(name) == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return subject{}, fmt.Errorf("set %s", strings.Join(missing, ", "))
	}
	var ca []byte
	if file := getenv("PROXMOX_CA_FILE"); file != "" {
		var err error
		if ca, err = os.ReadFile(file); err != nil { //nolint:gosec // The file that the user names.
			return subject{}, err
		}
	}
	values := map[string]string{"node": getenv("PROXMOX_NODE"), "vmid": getenv("PROXMOX_TEMPLATE_VMID"), "storage": "local"}
	return newSubject(getenv("PROXMOX_ENDPOINT"), getenv("PROXMOX_TOKEN_ID"), getenv("PROXMOX_TOKEN_SECRET"), ca, values)
}

func labNode(lab *pvelab.Lab) (subject, error) {
	id, secret := lab.Token("full")
	values := map[string]string{"node": lab.Nodes()[0], "vmid": templateVMID, "storage": "local"}
	return newSubject(lab.URL(), id, secret, lab.CAPEM(), values)
}

// version is the one that the lab has to play.
func (s subject) version(ctx context.Context) (string, error) {
	found, err := s.ask(ctx, "/version")
	if err != nil {
		return "", fmt.Errorf("ask the node for its version: %w", err)
	}
	if found.Status != http.StatusOK {
		return "", fmt.Errorf("ask the node for its version: it answers %d", found.Status)
	}
	data, _ := found.Data.(map[string]any)
	if release, _ := data["release"].(string); strings.HasPrefix(release, "8.") {
		return "8.4", nil
	}
	return "9.2", nil
}

// run asks both for every path.
func (r *recording) run(ctx context.Context, version string, paths []string) error {
	_, _ = fmt.Fprintf(r.out, "The lab plays Proxmox VE %s.\n", version)
	for _, template := range paths {
		realPath, known := r.real.path(template)
		if !known {
			r.skipped++
			continue
		}
		labPath, _ := r.lab.path(template)
		real, err := r.real.ask(ctx, realPath)
		if err != nil {
			return err
		}
		lab, err := r.lab.ask(ctx, labPath)
		if err != nil {
			return err
		}
		r.compare(template, real, lab)
		if r.keep == nil {
			continue
		}
		if err := r.keep.Encode(map[string]any{"path": template, "node": real, "lab": lab}); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(r.out, "%d requests: %d alike, %d not; %d are left out, whose paths name what is not known here.\n",
		r.same+r.differing, r.same, r.differing, r.skipped)
	return err
}

// path puts values in the place of a path's parameters. It reports false where one
// has none.
func (s subject) path(template string) (string, bool) {
	parts := strings.Split(template, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		value, known := s.values[strings.Trim(part, "{}")]
		if !known {
			return "", false
		}
		parts[i] = value
	}
	return strings.Join(parts, "/"), true
}

// answer is a status and, of a good one, the data.
type answer struct {
	Status int `json:"status"`
	Data   any `json:"data,omitempty"`
}

func (s subject) ask(ctx context.Context, path string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.endpoint+"/api2/json"+path, nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", s.token)
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return answer{Status: resp.StatusCode}, nil
	}
	var body struct {
		Data any `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return answer{}, fmt.Errorf("GET %s: %w", path, err)
	}
	return answer{Status: resp.StatusCode, Data: body.Data}, nil
}

// compare prints how two answers differ.
func (r *recording) compare(template string, real, lab answer) {
	var found []string
	if real.Status != lab.Status {
		found = append(found, "the node answers "+strconv.Itoa(real.Status)+", the lab "+strconv.Itoa(lab.Status))
	} else {
		found = differences("data", formOf(real.Data), formOf(lab.Data))
	}
	if len(found) == 0 {
		r.same++
		return
	}
	r.differing++
	_, _ = fmt.Fprintln(r.out, "GET "+template)
	for _, each := range found {
		_, _ = fmt.Fprintln(r.out, "    "+each)
	}
}

// form is what an answer looks like, whatever it says: its kind, and the forms within.
// All elements of a list count as one.
type form struct {
	kind   string
	fields map[string]form
}

func formOf(value any) form {
	switch v := value.(type) {
	case nil:
		return form{kind: "null"}
	case bool:
		return form{kind: "boolean"}
	case float64:
		return form{kind: "number"}
	case string:
		return form{kind: "text"}
	case []any:
		list := form{kind: "list", fields: map[string]form{}}
		for _, each := range v {
			list.fields["[]"] = list.fields["[]"].with(formOf(each))
		}
		return list
	case map[string]any:
		object := form{kind: "object", fields: map[string]form{}}
		for key, each := range v {
			if strings.HasPrefix(key, "/") {
				key = "[]" // Permissions are by path: what is there is no matter of form.
			}
			object.fields[key] = object.fields[key].with(formOf(each))
		}
		return object
	}
	return form{kind: fmt.Sprintf("%T", value)}
}

// with is a form that has the fields of both.
func (f form) with(other form) form {
	if f.kind == "" || f.kind != other.kind {
		return other
	}
	joined := form{kind: f.kind, fields: map[string]form{}}
	maps.Copy(joined.fields, f.fields)
	for key, each := range other.fields {
		joined.fields[key] = joined.fields[key].with(each)
	}
	return joined
}

// differences lists what one form has and the other has not. An empty list says
// nothing of its elements.
func differences(at string, real, lab form) []string {
	if real.kind != lab.kind {
		return []string{fmt.Sprintf("%s: the node has %s, the lab %s", at, real.kind, lab.kind)}
	}
	if real.kind == "list" && (len(real.fields) == 0 || len(lab.fields) == 0) {
		return nil
	}
	var found []string
	keys := slices.Sorted(maps.Keys(real.with(lab).fields))
	for _, key := range keys {
		theirs, inReal := real.fields[key]
		ours, inLab := lab.fields[key]
		inner := strings.Replace(at+"."+key, ".[]", "[]", 1)
		switch {
		case !inLab:
			found = append(found, inner+": only the node has it")
		case !inReal:
			found = append(found, inner+": only the lab has it")
		default:
			found = append(found, differences(inner, theirs, ours)...)
		}
	}
	return found
}
