package proxmox

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// sessionCacheSize is the number of TLS sessions kept for resumption: PVE closes
// the connection after each protected call, so handshakes are many.
const sessionCacheSize = 64

const trustRemedy = "name the CA that signed it in ca_file or ca_pem, or the certificate itself in tls_fingerprint"

// tlsConfig reports what is wrong with the trust options in p.
func (o *Options) tlsConfig(p *problems) *tls.Config {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(sessionCacheSize),
	}
	if o.trustKinds() > 1 {
		p.add("Insecure", "give only one of a CA (text or file), a fingerprint, or insecure")
		return config
	}
	switch {
	case o.CAFile != "":
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			p.add("CAFile", fmt.Sprintf("cannot read it: %v", err))
			break
		}
		config.RootCAs = pool("CAFile", pem, p)
	case len(o.CAPEM) > 0:
		config.RootCAs = pool("CAPEM", o.CAPEM, p)
	case o.Fingerprint != "":
		want, err := parseFingerprints(o.Fingerprint)
		if err != nil {
			p.add("Fingerprint", err.Error())
			break
		}
		pin(config, want)
	case o.Insecure:
		config.InsecureSkipVerify = true
	}
	return config
}

func (o *Options) trustKinds() int {
	kinds := 0
	for _, given := range []bool{o.CAFile != "", len(o.CAPEM) > 0, o.Fingerprint != "", o.Insecure} {
		if given {
			kinds++
		}
	}
	return kinds
}

func pool(field string, pem []byte, p *problems) *x509.CertPool {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		p.add(field, "holds no certificate in PEM form")
	}
	return roots
}

// pin accepts certain certificates, whoever signed them and whatever names they
// bear: PVE's own certificates are signed by the cluster's private CA, and each
// node has another one.
func pin(config *tls.Config, want [][sha256.Size]byte) {
	config.InsecureSkipVerify = true
	// Unlike VerifyPeerCertificate it is called for resumed sessions too.
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the server sent no certificate")
		}
		got := sha256.Sum256(state.PeerCertificates[0].Raw)
		if !slices.Contains(want, got) {
			return &fingerprintError{got: got, several: len(want) > 1}
		}
		return nil
	}
}

type fingerprintError struct {
	got [sha256.Size]byte
	// several is set where more than one certificate was pinned.
	several bool
}

func (e *fingerprintError) Error() string {
	return "the certificate's SHA-256 fingerprint is " + formatFingerprint(e.got)
}

// parseFingerprints reads fingerprints with commas between them.
func parseFingerprints(s string) ([][sha256.Size]byte, error) {
	var sums [][sha256.Size]byte
	for each := range strings.SplitSeq(s, ",") {
		sum, err := parseFingerprint(each)
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return sums, nil
}

func parseFingerprint(s string) ([sha256.Size]byte, error) {
	var sum [sha256.Size]byte
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
	if err != nil || len(raw) != sha256.Size {
		return sum, errors.New("must be a SHA-256 fingerprint: 32 bytes in hex, with or without colons; several have commas between them")
	}
	return [sha256.Size]byte(raw), nil
}

// formatFingerprint writes a fingerprint as PVE and openssl do.
func formatFingerprint(sum [sha256.Size]byte) string {
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}

// asTLSError explains a failed handshake; other errors give nil.
func asTLSError(endpoint string, err error) *TLSError {
	explain := func(cause, problem, remedy string) *TLSError {
		return &TLSError{Endpoint: endpoint, Cause: cause, Problem: problem, Remedy: remedy, Err: err}
	}
	var (
		pinned  *fingerprintError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		verify  *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &pinned):
		which := "not the one that was pinned"
		if pinned.several {
			which = "none of those that were pinned"
		}
		return explain("the node's certificate is not the pinned one", pinned.Error()+", "+which,
			"if the node's certificate was renewed, set tls_fingerprint anew; each node has a certificate of its own, so name those of all endpoints, "+
				"with commas between them; if it was not renewed, somebody else answers in its place")
	case errors.As(err, &unknown):
		return explain("the node's certificate was signed by an unknown authority", "its certificate"+fingerprintOf(err)+" was signed by an unknown authority", trustRemedy)
	case errors.As(err, &name):
		return explain("the node's certificate is for another name", name.Error(), "use a name that the certificate holds as endpoint, or pin it with tls_fingerprint")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return explain("the node's certificate is expired or not yet valid", "its certificate is expired or not yet valid"+dates(invalid.Cert),
			"renew it (pvecm updatecerts --force) or set this machine's clock")
	case errors.As(err, &record):
		return explain("the endpoint does not speak TLS", "it does not speak TLS", "check the endpoint's port; PVE's API listens on "+DefaultPort)
	case errors.As(err, &verify):
		return explain("the node's certificate is not trusted", verify.Err.Error(), trustRemedy)
	default:
		return nil
	}
}

func fingerprintOf(err error) string {
	var verify *tls.CertificateVerificationError
	if !errors.As(err, &verify) || len(verify.UnverifiedCertificates) == 0 {
		return ""
	}
	return fmt.Sprintf(" (SHA-256 %s)", formatFingerprint(sha256.Sum256(verify.UnverifiedCertificates[0].Raw)))
}

func dates(cert *x509.Certificate) string {
	if cert == nil {
		return ""
	}
	const layout = "2006-01-02"
	return fmt.Sprintf(" (valid from %s to %s)", cert.NotBefore.Format(layout), cert.NotAfter.Format(layout))
}
