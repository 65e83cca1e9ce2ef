"""One file per verb of ``lfp``; each has ``command``, a click command."""
