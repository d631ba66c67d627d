"""Ledgers: what the lines of all ranks show together; each derives events of dialect ``ledger``."""
