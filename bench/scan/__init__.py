"""A port scan through gateways: its bench, and the part that runs inside the guest."""
