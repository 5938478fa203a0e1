package framework

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// certificate explains why the node's certificate is not trusted.
func certificate(err error) (explanation, bool) {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknown):
		return explanation{
			cause: "the node's certificate is signed by an unknown CA",
			remedy: "Proxmox VE signs its nodes' certificates with a CA of the cluster's own. Copy /etc/pve/pve-root-ca.pem from a node and name it in ca_file, " +
				"or set tls_fingerprint to the SHA-256 fingerprint of the node's certificate (`pvenode cert info`).",
		}, true
	case errors.As(err, &name):
		return explanation{
			cause:  fmt.Sprintf("the node's certificate is not for %q", name.Host),
			said:   err.Error(),
			remedy: namesOf(name.Certificate) + "Use one of its names as the endpoint, issue a certificate with this name, or set tls_fingerprint.",
		}, true
	case errors.As(err, &invalid):
		return explanation{
			cause: "the node's certificate is not valid",
			remedy: "If it has expired, renew it on the node (`pvecm updatecerts --force`, or Certificates in the node's settings); " +
				"if its time is yet to come, compare the clocks.",
		}, true
	default:
		return explanation{}, false
	}
}

func namesOf(certificate *x509.Certificate) string {
	if certificate == nil {
		return ""
	}
	names := certificate.DNSNames
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "The certificate names no host at all. "
	}
	return "The certificate is for " + strings.Join(names, ", ") + ". "
}
