"""Tools for authors of rules: drafts, the lint, the worklist of gaps."""
