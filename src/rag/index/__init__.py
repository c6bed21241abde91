"""An index on disk: snapshots, manifest, catalog, vocabulary, vector cache. No Haystack."""
