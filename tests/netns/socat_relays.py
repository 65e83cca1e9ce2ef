"""A gateway of another vendor, for scenarios: two relays of socat, as the keys of a [gateway] table."""

SOCAT_RELAYS = """\
kind = "command"
model = "proxy"
near = '''sh -c "
    socat tcp-l:$port,bind=$listen,fork tcp:$far:$port &
    socat tcp-l:$data_port,bind=$listen,fork tcp:$far:$data_port &
    wait"'''
far = '''sh -c "
    socat tcp-l:$port,fork tcp:$receiver:$port &
    socat tcp-l:$data_port,fork tcp:$receiver:$data_port &
    wait"'''
"""
