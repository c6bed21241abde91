"""One query to ranked notes."""
