"""For those who write rules: start one from a log line, lint, find what no rule explains, make pages for readers."""
