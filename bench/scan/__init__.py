"""A port scan through gateways: its bench, and what runs inside the guest."""
