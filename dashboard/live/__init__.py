"""Tools that run now: one thread for each control socket keeps what it answers, and pages ask tools to change."""
