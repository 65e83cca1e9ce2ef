"""Reads what `pktlogger index`, `record` and `analyse` write.

Columns are mapped and not read, so a table of 100 million packets opens at once and uses memory only where it is
accessed. Nothing here loops over packets. Columns, units and rules are in FORMAT.md.
"""

from pktlogger.clocks import on_one_clock, on_senders_clock
from pktlogger.columns import (
    TABLES,
    Analysis,
    flows,
    frame_sources,
    read_analysis,
    read_index,
    read_record,
    read_table,
    record_description,
    summary,
)
from pktlogger.legs import legs, tunnel
from pktlogger.pairs import between, pair_flows
from pktlogger.parquet import analysis_to_parquet, to_parquet
from pktlogger.through import Through, through

__all__ = [
    "TABLES",
    "Analysis",
    "Through",
    "analysis_to_parquet",
    "between",
    "flows",
    "frame_sources",
    "legs",
    "on_one_clock",
    "on_senders_clock",
    "pair_flows",
    "read_analysis",
    "read_index",
    "read_record",
    "read_table",
    "record_description",
    "summary",
    "through",
    "to_parquet",
    "tunnel",
]
