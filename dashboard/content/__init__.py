"""Tables and lists of facts that pages and the report show, as plain strings."""
