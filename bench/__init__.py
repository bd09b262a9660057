"""Measurements: `python -m bench overhead`."""
