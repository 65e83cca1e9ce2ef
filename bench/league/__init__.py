"""The gateway league: products, LFT's recoveries and plain TCP on the same paths, in real and in virtual time."""
