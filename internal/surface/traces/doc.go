// Package traces records the spans of the work (core/span) with the SDK of OpenTelemetry
// and sends them to a collector by OTLP over HTTP. The standard OTEL_* variables say
// where to, and whether at all.
//
// It decides nothing about the work. A collector that cannot be reached costs spans, never
// time or an error of the work, and is told once. It never tells the headers that it sends
// to the collector.
package traces
