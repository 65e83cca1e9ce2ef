"""Makes the files from which the timeline of a long transfer is read (`python -m dashboard.timeline.prepare RUN TRIAL
FLOW`, with `reverse` behind it for what the receivers sent).

The first program that loads such a timeline starts it: usually the report at the end of a run. It is a process of its
own, because it needs many times the memory of the server. Invariant: a folder with the mark DONE has everything.
"""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np

from dashboard.core.runs import REVERSE, Trial, load_run
from dashboard.timeline import kept_files
from dashboard.timeline.store import KEPT, Store
from dashboard.timeline.timeline import BASE, Timeline, joined, read_leg, stored_leg, stores_of

OF_BOX = ("box_rows", "box_line", "box_queue", "lost_fates")
OF_GATEWAYS = ("inside_gateways", "through_gateways")


def prepare(trial: Trial, flow: int) -> None:
    """Makes the files of one flow, unless they are there."""
    store, far = stores_of(trial, flow)
    if store.done:
        return
    for old in kept_files.folder(trial.path).glob(f"{flow}-*"):  # unfinished, or of other tables
        shutil.rmtree(old)
    kept_files.make_room(trial.path)
    far.folder.mkdir(parents=True)
    read = joined(trial, flow, read_leg)
    _put(store, read)
    if isinstance(read.server, Timeline):
        _put(far, read.server)
    del read
    mapped = joined(trial, flow, partial(stored_leg, whole=True))
    for leg in (mapped.server, mapped):
        if leg is not None:
            for name in KEPT:
                if (leg.box or name not in OF_BOX) and (leg.server or name not in OF_GATEWAYS):
                    getattr(leg, name)
    store.finish()


def _put(store: Store, leg: Timeline) -> None:
    for name in BASE:
        store.put(name, getattr(leg, name))
    store.put("origin", np.asarray([leg.origin_ns]))
    if leg.box:
        store.put("box", (leg.box.fate, leg.box.in_ns, leg.box.exit_ns, leg.box.out_ns))
    if leg.lost_acks:
        store.put("lost_acks", (leg.lost_acks.t_ns, leg.lost_acks.ack, leg.lost_acks.fate))


if __name__ == "__main__":
    found = load_run(Path(sys.argv[1])).trial(int(sys.argv[2]))
    prepare(found.turned() if REVERSE in sys.argv[4:] else found, int(sys.argv[3]))
