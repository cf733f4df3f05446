// Package tlsfile makes the settings of an encrypted connection out of files with
// certificates, and says in plain words why a server is not believed.
//
// It must never make settings that believe every server.
package tlsfile

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/link"
)

// Config returns how to connect to a host; nil where the connection is not
// encrypted.
func Config(s link.Security, host string) (*tls.Config, error) {
	if err := s.Check(); err != nil || !s.Encrypts(host) {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.ServerName}
	if config.ServerName == "" {
		config.ServerName = host
	}
	if s.CA != "" {
		text, err := readFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("%w: ca: %w", fault.ErrInvalid, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: ca: %s holds no certificate in PEM form", fault.ErrInvalid, s.CA)
		}
	}
	if s.Cert == "" {
		return config, nil
	}
	if _, err := loadPair(s.Cert, s.Key); err != nil {
		return nil, fmt.Errorf("%w: cert and key: %w", fault.ErrInvalid, err)
	}
	// Read for every connection: certificates are renewed while a process serves.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := loadPair(s.Cert, s.Key)
		return &pair, err
	}
	return config, nil
}

func loadPair(cert, key string) (pair tls.Certificate, err error) {
	certificate, err := readFile(cert)
	if err != nil {
		return pair, err
	}
	private, err := readFile(key)
	if err != nil {
		return pair, err
	}
	return tls.X509KeyPair(certificate, private)
}

// mostBytes is more than the certificates of all known authorities take.
const mostBytes = 4 << 20

// readFile reads a regular file. A pipe would be waited for, and a device may never
// end.
func readFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > mostBytes:
		return nil, fmt.Errorf("%s is larger than %d MB", path, mostBytes>>20)
	}
	return io.ReadAll(io.LimitReader(file, mostBytes))
}

// Advice returns what to do about a server that is not believed, or does not
// believe us; "" for any other error.
func Advice(err error) string {
	var name x509.HostnameError
	var alert tls.AlertError
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "if the certificate is of an authority of your own, name its file with ca=FILE"
	case errors.As(err, &name):
		return "use the name in the certificate as host, or say it with serverName=NAME"
	case errors.As(err, new(x509.CertificateInvalidError)):
		return "renew the certificate of the server, or set the clock of this machine"
	case errors.As(err, &alert):
		return "does the server want a certificate of ours? Name it with cert=FILE and key=FILE"
	case errors.As(err, new(tls.RecordHeaderError)):
		return "the port does not answer with TLS: is it the right one?"
	}
	return ""
}

// DialLocal connects to this machine only: a name that leads elsewhere is refused
// before anything is sent, because nothing that follows is encrypted.
func DialLocal(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Control: func(_, at string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(at)
		if err != nil || !to.Addr().Unmap().IsLoopback() {
			return fmt.Errorf("%w: %s leads to %s, which is not this machine: to connect without encryption say tls=off", fault.ErrInvalid, address, at)
		}
		return nil
	}}
	return dialer.DialContext(ctx, network, address)
}

// ServerConfig returns how to answer as a server that has a certificate.
func ServerConfig(cert, key string) (*tls.Config, error) {
	if _, err := loadPair(cert, key); err != nil {
		return nil, fmt.Errorf("%w: cert and key: %w", fault.ErrInvalid, err)
	}
	// Read for every connection: certificates are renewed while a process serves.
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := loadPair(cert, key)
		return &pair, err
	}}, nil
}
