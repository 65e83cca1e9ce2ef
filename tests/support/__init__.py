"""What tests of several folders share: a witness of the machine, virtual time for a single function, free ports."""
