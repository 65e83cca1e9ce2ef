"""The conformance table: every row of lft_behaviours with the gateways and bypassed, IPv4 and IPv6.

Rows run side by side, so the whole table takes little longer than its longest row.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from lft_behaviours import Row, prepare, rows
from lft_lab import ROUTER, Lab, lft_lab, until

HEAD = """# What a client and a server notice of an LFT gateway

A pair of gateways in the router model is between a client and a server, with a round trip of 10 ms. Each row is one
thing that the two ends do, and what both of them saw: with the gateways, and with the gateways bypassed.
`tests/netns/test_lft_conformance.py` writes this page, and measures in real and in virtual time. It fails when the two
columns of a family differ, or when a result is not what this page says.

10.82.0.2 and fd82::2 are the server, which in the fourth row is also the router without a route. 10.77.0.2 and fd77::2
are the far gateway.

| | IPv4, gateways | IPv4, bypassed | IPv6, gateways | IPv6, bypassed |
|---|---|---|---|---|
"""
Results = dict[tuple[str, int], str]
Running = dict[tuple[str, int], Future[str]]
FAMILIES = (4, 6)


def started(lab: Lab, pool: ThreadPoolExecutor, base_port: int, apart: bool) -> tuple[Running, Running]:
    """Starts the rows; returns the quick ones and the slow ones."""
    quick, slow = Running(), Running()
    for family in FAMILIES:
        for number, row in enumerate(rows(family)):
            if row.apart == apart:
                (slow if row.slow else quick)[row.name, family] = pool.submit(row.act, lab, family, base_port + number)
    return quick, slow


def collected_apart(lab: Lab, pool: ThreadPoolExecutor, base_port: int) -> Results:
    """Results of the rows that need a line without other traffic."""
    return collected(started(lab, pool, base_port, True)[0])


def collected(running: Running) -> Results:
    results = Results()
    for key, future in running.items():
        try:
            results[key] = future.result(150)
        except (OSError, AssertionError) as error:
            results[key] = f"{type(error).__name__}: {error}"
    return results


def measured(lab: Lab) -> tuple[Results, Results]:
    """Every row with gateways, and bypassed. Slow rows with gateways go on while the bypassed ones run, because bypass
    concerns new connections only."""
    every = [row for family in FAMILIES for row in rows(family)]
    count = sum(row.connects for row in every)
    with ThreadPoolExecutor(2 * len(every)) as pool:
        accelerated = collected_apart(lab, pool, 8000)
        quick, slow = started(lab, pool, 8000, False)
        accelerated |= collected(quick)
        assert lab.show()["router"]["syns"] == count, "not all of them were accelerated"
        lab.verb("near", "bypass", "on")
        until(lambda: bool(lab.show()["bypassed"]), 60, "bypassed")
        bypassed = collected_apart(lab, pool, 8200)
        quick2, slow2 = started(lab, pool, 8200, False)
        bypassed |= collected(quick2) | collected(slow2)
        accelerated |= collected(slow)
        assert lab.show()["router"]["syns"] == count, "some were accelerated in spite of the bypass"
    return accelerated, bypassed


def table(accelerated: Results, bypassed: Results) -> str:
    lines = []
    names = list(dict.fromkeys(row.name for family in FAMILIES for row in order(family)))
    for name in names:
        cells = [found.get((name, family), "–") for family in FAMILIES for found in (accelerated, bypassed)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return HEAD + "\n".join(lines) + "\n"


def order(family: int) -> list[Row]:
    """Connects first."""
    return sorted(rows(family), key=lambda row: not row.name.startswith("connect"))


def faults(accelerated: Results, bypassed: Results) -> list[str]:
    """Rows whose two columns differ, and rows whose connection did not work."""
    found = []
    for (name, family), result in accelerated.items():
        if result != bypassed[name, family]:
            found.append(f"{name}, IPv{family}: {result}; bypassed: {bypassed[name, family]}")
        if any(word in result for word in ("wrong", "never", "Error:")):
            found.append(f"{name}, IPv{family}: {result}")
    return found


def conformance(spin: str = "20us") -> dict[str, Any]:
    """``text``: the page; ``faults``: what is wrong with it. ``spin`` is the delay box's, "0" in virtual time."""
    with lft_lab(delay="5ms", spin=spin) as lab, lab.gateways(*ROUTER):
        prepare(lab)
        accelerated, bypassed = measured(lab)
    return {"text": table(accelerated, bypassed), "faults": faults(accelerated, bypassed)}
