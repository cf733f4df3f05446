package traces

import (
	"crypto/tls"
	"crypto/x509"
	"os"
)

// readCertificates returns whom to trust as the collector and who we are to it; nil where no
// variable says so. With one that cannot be used nothing is recorded: without the authority
// that was named, spans could go to whoever the system trusts. Of a file the name of its
// variable is told, and nothing of what is in it.
func (r *reader) readCertificates() (out *tls.Config, usable bool) {
	caName, ca := r.readOne("CERTIFICATE")
	certName, cert := r.readOne("CLIENT_CERTIFICATE")
	keyName, key := r.readOne("CLIENT_KEY")
	if ca+cert+key == "" {
		return nil, true
	}
	out = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			r.warn("%s: %v; no spans are recorded", caName, err)
			return nil, false
		}
		if out.RootCAs = x509.NewCertPool(); !out.RootCAs.AppendCertsFromPEM(text) {
			r.warn("%s: %s holds no certificate in PEM; no spans are recorded", caName, ca)
			return nil, false
		}
	}
	if cert+key == "" {
		return out, true
	}
	if cert == "" || key == "" {
		r.warn("%s is set, and a client needs both OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY; no spans are recorded", certName+keyName)
		return nil, false
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		r.warn("%s and %s: %v; no spans are recorded", certName, keyName, err)
		return nil, false
	}
	out.Certificates = []tls.Certificate{pair}
	return out, true
}
