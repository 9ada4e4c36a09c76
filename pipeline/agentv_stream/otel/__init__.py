"""OpenTelemetry: spans of sessions to files in OTLP JSON, and over HTTP to a collector or a backend."""
