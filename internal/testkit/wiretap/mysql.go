package wiretap

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
)

// Capabilities of a MySQL server.
const (
	protocol41   = 0x0200
	overTLS      = 0x0800
	secureAuth   = 0x8000
	pluginAuth   = 0x00080000
	packetHeader = 4
)

// MySQL greets like a MySQL server, with or without TLS, reads what a client says of
// itself, and refuses it. With a nil configuration it offers no TLS.
func MySQL(config *tls.Config) func(net.Conn) {
	return func(conn net.Conn) {
		able := uint32(protocol41 | secureAuth | pluginAuth)
		if config != nil {
			able |= overTLS
		}
		if writePacket(conn, 0, greetingPacket(able)) != nil {
			return
		}
		if readPacket(conn) != nil {
			return
		}
		if config != nil {
			over := tls.Server(conn, config)
			if over.Handshake() != nil || readPacket(over) != nil {
				return
			}
			conn = over
		}
		_ = writePacket(conn, 2, append([]byte{0xff, 0x15, 0x04}, "#28000Access denied"...)) // 1045
		_, _ = io.Copy(io.Discard, conn)
	}
}

// greetingPacket is the first packet of protocol version 10.
func greetingPacket(able uint32) []byte {
	p := append([]byte{10}, "10.11.0-tap\x00"...)
	p = binary.LittleEndian.AppendUint32(p, 7)
	p = append(p, "12345678\x00"...)
	p = binary.LittleEndian.AppendUint16(p, uint16(able))
	p = append(p, 45)
	p = binary.LittleEndian.AppendUint16(p, 2)
	p = binary.LittleEndian.AppendUint16(p, uint16(able>>16))
	p = append(p, 21)
	p = append(p, make([]byte, 10)...)
	p = append(p, "123456789012\x00"...)
	return append(p, "mysql_native_password\x00"...)
}

func writePacket(conn net.Conn, number byte, body []byte) error {
	head := []byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), number}
	_, err := conn.Write(append(head, body...))
	return err
}

func readPacket(conn net.Conn) error {
	head := make([]byte, packetHeader)
	if _, err := io.ReadFull(conn, head); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16))
	return err
}
