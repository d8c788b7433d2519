"""The paper's experiments: `protocol` says what to run, `run` runs it, `store` keeps it, `publish` reports it."""
