"""Runs -> tables and figures."""
