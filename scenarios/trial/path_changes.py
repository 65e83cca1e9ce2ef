"""What changes on a path while a trial runs (`[path] change`): a thread that sets the delay box's parameters when their
time has come. It sleeps until then, so it works in virtual time too. Times count by the box's clock, as those of
outages do."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from netcommon import quantity
from netcommon.errors import LfpError
from scenarios.plan.path import Change, parameter_of

if TYPE_CHECKING:
    from comet_delay.userspace import UserspaceBox
    from scenarios.trial.delay_box import Boxes


@contextlib.contextmanager
def applied(boxes: Boxes, changes: Sequence[Change]) -> Iterator[None]:
    """Makes the changes while the block runs, in every box of a parking lot at once; those that are due later are left
    out. LfpError at the end when a box has refused one."""
    if not changes:
        yield
        return
    ended, failed = threading.Event(), list[LfpError]()
    all_boxes = [cast("UserspaceBox", box) for box in boxes.boxes.values()]
    began_ns = int(all_boxes[0].ready["clock"]["monotonic_ns"])

    def make() -> None:
        for change in changes:
            if ended.wait(max(0, began_ns + change.at_ns - time.monotonic_ns()) / 1e9):
                return
            try:
                for box in all_boxes:
                    box.set(ab=_named(change.ab), ba=_named(change.ba))
            except LfpError as error:
                failed.append(LfpError(f"path.change at {quantity.format_duration(change.at_ns)}: {error}"))
                return

    thread = threading.Thread(target=make, name="path.change", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failed:
        raise failed[0]


def _named(values: Mapping[str, int | str]) -> dict[str, int | str]:
    return {parameter_of(key, value): value for key, value in values.items()}
