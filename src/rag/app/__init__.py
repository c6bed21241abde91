"""What front-ends share: use cases, their requests and reports."""
