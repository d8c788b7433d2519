"""The paper's experiments: what to run (plan), how (run), kept where (store), and what comes of it (publish)."""
