"""The network of a run: namespaces, links, addresses, sysctls."""
