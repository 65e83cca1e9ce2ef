"""The command lines of gateways of kind ``command``: are they whole, and are their ``$`` words known (SCENARIO.md)?"""

from __future__ import annotations

import shlex
import string

WORDS = ("near", "far", "receiver", "listen", "port", "data_port", "rate_bps", "rate_mbps", "pktlogger")


def wrong(line: str | None) -> str | None:
    """What is wrong with a gateway's command line, or None."""
    if line is None:
        return None
    try:
        words = shlex.split(line)
    except ValueError as error:
        return f"{str(error).lower()}; write the line as for a shell, with every quotation mark closed"
    if not words:
        return "empty; want a program and its arguments"
    texts = [string.Template(word) for word in words]
    unknown = next((name for text in texts for name in text.get_identifiers() if name not in WORDS), None)
    if unknown or not all(text.is_valid() for text in texts):
        said = f"${unknown}" if unknown else "a $ that begins no word"
        return f"{said}: unknown; allowed is one of {', '.join(f'${name}' for name in WORDS)}, and $$ for a dollar sign"
    return None
