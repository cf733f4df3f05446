package link

import (
	"errors"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestTrust03WhatIsLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"": true, "localhost": true, "LOCALHOST": true, "localhost.": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "[::1]": true, "::ffff:127.0.0.1": true, "/run/s": true,
		"db": false, "localhost.example.org": false, "127.0.0.1.example.org": false, "10.0.0.1": false, "0.0.0.0": false, "::": false, "::ffff:10.0.0.1": false, "fe80::1": false, "2130706433": false,
	} {
		if got := IsLocal(host); got != want {
			t.Errorf("%q is local: %v", host, got)
		}
		if got := (Security{}).Encrypts(host); got == want {
			t.Errorf("%q is encrypted: %v", host, got)
		}
	}
}

func TestTrust03OptionsOfAnAddress(t *testing.T) {
	for query, want := range map[string]Security{
		"": {}, "tls=on": {TLS: On}, "tls=true": {TLS: On}, "tls=off": {TLS: Off},
		"ca=a&cert=b&key=c&serverName=d": {CA: "a", Cert: "b", Key: "c", ServerName: "d"},
	} {
		got, _, err := ReadOptions(query)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", query, got, err)
		}
	}
	for query, want := range map[string]string{
		"tls=": "no value", "tls=false": "expected on or off", "tls=on&tls=on": "twice", "TLS=on": "did you mean tls", "ssl-ca=x": "did you mean ca", "socket=x": "not known", "tls=%zz": "cannot be read", "key=x": "both",
	} {
		if _, _, err := ReadOptions(query); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if !(Security{CA: "x"}).Encrypts("localhost") || (Security{TLS: Off}).Encrypts("db.example") {
		t.Error("what is written is not done")
	}
}

func TestTrust03WhatIsExposed(t *testing.T) {
	for address, want := range map[string]string{
		"mysql://u:p@db.example/x?tls=off": "db.example", "mysql://u:p@db.example/x": "", "mysql://u:p@127.0.0.1/x?tls=off": "",
		"mysql://u:p@localhost/x?tls=off&socket=/s": "", "redis://:p@10.0.0.1:1/0?tls=off": "10.0.0.1", "sqlite:patra.db": "", "": "",
	} {
		if got := Exposed(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
