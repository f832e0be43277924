"""The paper's experiments: data × method × parameters × seed, kept as JSON lines, shown beside the paper."""
