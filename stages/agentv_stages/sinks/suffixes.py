"""How the names of the outputs end that every driver writes."""

TRANSCRIPT, LETTERS = ".transcript.jsonl", ".dead-letters.jsonl"
RAW_LOG, SUMMARY_LOG = ".stream.jsonl", ".stream.log"
SPANS = ".otlp.jsonl"
TRACE = ".trace.jsonl"
