"""Talking to the API server: credentials, requests, discovery, watching."""
