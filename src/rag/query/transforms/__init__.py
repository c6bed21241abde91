"""Query transforms: multi-query, HyDE, step-back, decomposition, rewriting."""
