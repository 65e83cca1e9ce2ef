"""Programs of others, and one small program in each of five languages, for the bench ``virtual.programs``."""
