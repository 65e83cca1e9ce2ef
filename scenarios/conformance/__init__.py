"""What any pair of gateways must do for its clients and servers: cases in virtual time (CONFORMANCE.md)."""
