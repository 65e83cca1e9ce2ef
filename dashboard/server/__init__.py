"""The processes that serve the pages: addresses, access, the confined server and its keeper."""
