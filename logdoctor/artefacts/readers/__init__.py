"""The readers of documents, one kind a file. `logdoctor.artefacts` finds them and says what each holds."""
