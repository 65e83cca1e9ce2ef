"""`lfp bench virtual.speed` and `virtual.lsr`: how fast virtual time goes."""
