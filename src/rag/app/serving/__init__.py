"""What front-ends need that run for long: readers for several threads, and how they start."""
