"""Tests of gpudnn."""
