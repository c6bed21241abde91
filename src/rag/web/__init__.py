"""The HTTP API and the page: `gate` lets requests in, `app` answers them, `serve` runs both."""
