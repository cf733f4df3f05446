package redis

import (
	"testing"
)

func TestServerLivesDiesAndComesBackEmpty(t *testing.T) {
	s := Start(t)
	address := s.URL()
	if answer, err := s.sendCommand("SET name value"); err != nil || answer != "+OK" {
		t.Fatalf("set: %q, %v", answer, err)
	}
	s.Kill()
	if _, err := s.sendCommand("PING"); err == nil {
		t.Fatal("it answers after it was killed")
	}
	s.Restart()
	if s.URL() != address {
		t.Errorf("address %s after a restart, before %s", s.URL(), address)
	}
	if answer, err := s.sendCommand("EXISTS name"); err != nil || answer != ":0" {
		t.Errorf("after a restart: %q, %v", answer, err)
	}
	if answer, err := s.sendCommand("SET name value"); err != nil || answer != "+OK" {
		t.Fatalf("set: %q, %v", answer, err)
	}
	s.Empty()
	if answer, err := s.sendCommand("EXISTS name"); err != nil || answer != ":0" {
		t.Errorf("after emptying: %q, %v", answer, err)
	}
}

func TestPausedServerAnswersLater(t *testing.T) {
	s := Start(t)
	s.Pause()
	answered := make(chan error, 1)
	go func() {
		_, err := s.sendCommand("PING")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a paused server answered: %v", err)
	default:
	}
	s.Resume()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}
