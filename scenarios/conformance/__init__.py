"""Conformance cases for any pair of gateways, in virtual time (CONFORMANCE.md)."""
