"""What a query says besides its words."""

from rag.query.dates import DateRange, parse_date_range

__all__ = ["DateRange", "parse_date_range"]
