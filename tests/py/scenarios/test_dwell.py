"""Dwell between the gateways' outer sides, and the side of each stall, from made-up times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from scenarios.trial import dwell

MS = 10**6
PATH_NS, STEP_NS, COUNT = 10 * MS, MS, 2000
AT, LASTED_NS = 1000, 200 * MS
Times = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def carried(side: str | None) -> Times:
    """A segment a millisecond through both gateways, each a frame of its own; at segment AT one side rests."""
    came = np.arange(COUNT, dtype=np.int64) * STEP_NS
    resumes = came[AT] + LASTED_NS
    out_near = np.maximum(came, resumes) if side == "near" else came
    out_near = np.where(np.arange(COUNT) < AT, came, out_near)
    on_path = out_near + PATH_NS
    in_far = np.where((np.arange(COUNT) >= AT) & (side == "tunnel"), np.maximum(on_path, resumes + PATH_NS), on_path)
    left = np.where((np.arange(COUNT) >= AT) & (side == "far"), np.maximum(in_far, resumes + PATH_NS), in_far)
    return came, left, np.sort(out_near), np.sort(in_far)


@pytest.mark.parametrize("side", dwell.SIDES)
def test_a_stall_is_found_with_its_side_and_its_length(side: str) -> None:
    found = dwell.of_flow(*carried(side), PATH_NS)
    assert found["stalls"] == 1
    assert {one: found[one] for one in dwell.SIDES} == {one: int(one == side) for one in dwell.SIDES}
    assert found[f"{side}_max_ns"] == LASTED_NS
    assert (found["p50"], found["max"]) == (PATH_NS, PATH_NS + LASTED_NS)


def test_a_far_gateway_that_rests_when_the_sender_has_ended_is_the_far_one() -> None:
    came, left, out_near, in_far = (times[: AT + 10] for times in carried("far"))
    found = dwell.of_flow(came, left, out_near, in_far, PATH_NS)
    assert {one: found[one] for one in dwell.SIDES} == {"near": 0, "tunnel": 0, "far": 1}


def test_a_queue_that_grows_is_no_stall() -> None:
    came = np.arange(COUNT, dtype=np.int64) * STEP_NS // 4
    left = PATH_NS + np.arange(COUNT, dtype=np.int64) * STEP_NS
    found = dwell.of_flow(came, left, came, left, PATH_NS)
    assert found["stalls"] == 0 and found["max"] > 1000 * MS


@pytest.mark.parametrize("lost", [AT, AT + 50])
def test_what_was_lost_in_the_tunnel_is_waited_for_there(lost: int) -> None:
    """A gateway that delivers octets in order waits from the time at which the first lost octet should have arrived."""
    came, left, out_near, in_far = carried("far")
    found = dwell.of_flow(came, left, out_near, np.delete(in_far, lost), PATH_NS)
    assert found["tunnel"] == 1 and found["far"] == 0


@pytest.mark.parametrize("lost", [AT, None])
def test_the_boxs_record_says_what_was_lost_on_a_path_that_becomes_longer(lost: int | None, tmp_path: Path) -> None:
    """From half a second before the stall each packet takes 25 ms longer. As many packets as were in flight once seemed
    to be missing all the time, so the far gateway was blamed for a repair."""
    came, left, out_near, in_far = carried("far")
    longer = 25 * MS * (np.arange(COUNT) >= AT - 500)
    arrives, dropped = in_far + longer, np.arange(COUNT) == lost
    metadata = {"pktlogger.record": json.dumps({"fates": ["sent", "queue"]})}
    record = {
        "direction": [0] * COUNT,
        "fate": dropped.astype(int),
        "wire_len": [1500] * COUNT,
        "t_arrival_ns": out_near,
        "t_release_ns": arrives,
    }
    parquet.write_table(pa.table(record).replace_schema_metadata(metadata), tmp_path / "box.parquet")
    missed = dwell._missed(tmp_path)
    found = dwell.of_flow(came, left + longer, out_near, arrives[~dropped], PATH_NS, missed)
    assert found["stalls"] == 1
    assert found["tunnel" if lost == AT else "far"] == 1
    assert dwell._missed(tmp_path / "none") is None


def in_order(gone: list[int], repair_ns: int, held_ns: int = 0) -> tuple[np.ndarray, ...]:
    """Segments that each wait ``held_ns`` in the near gateway; frames ``gone`` are lost, and their repairs come one
    after the other, each ``repair_ns`` after the one before."""
    came = np.arange(COUNT, dtype=np.int64) * STEP_NS
    out_near = came + held_ns
    in_far = out_near + PATH_NS
    due = in_far.copy()
    due[gone] = in_far[gone[0]] + repair_ns * np.arange(1, len(gone) + 1)
    left = np.maximum.accumulate(due)
    far = np.sort(due)
    repairs = due[gone] - PATH_NS
    return came, left, np.sort(np.concatenate([out_near, repairs])), far


@pytest.mark.parametrize("held_ns", [0, 300 * MS])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_gateway_that_waits_for_the_repair_of_an_earlier_loss_waits_for_the_tunnel(
    held_ns: int, recorded: bool
) -> None:
    """Two frames are lost 20 ms apart. The first repair comes after 150 ms, the second 150 ms later: the second wait
    begins when both were lost long ago, and nothing is lost meanwhile."""
    gone = [AT, AT + 20]
    came, left, out_near, in_far = in_order(gone, 150 * MS, held_ns)
    lost = np.isin(np.arange(COUNT), gone)
    on_time = came + held_ns + PATH_NS
    record = (on_time[~lost], np.cumsum(lost, dtype=np.int64)[~lost])
    found = dwell.of_flow(came, left, out_near, in_far, PATH_NS, record if recorded else None)
    assert {one: found[one] for one in dwell.SIDES} == {"near": 0, "tunnel": 2, "far": 0}


def test_what_was_lost_just_before_the_octets_came_is_waited_for_where_the_tunnel_keeps_one_order() -> None:
    """Another connection's frame is lost 15 ms before these octets come, and its repair lets them pass 150 ms later."""
    came, left, out_near, in_far = carried("far")
    lost = np.arange(COUNT) == AT - 15
    record = (in_far[~lost], np.cumsum(lost, dtype=np.int64)[~lost])
    assert dwell.of_flow(came[AT:], left[AT:], out_near, in_far[~lost], PATH_NS, record)["tunnel"] == 1


def test_a_far_gateway_that_rests_after_a_repair_is_the_far_one() -> None:
    """The loss was long ago, and its octets have left. By the amounts, the octets that the gateway holds were not sent
    at that time."""
    came, left, out_near, in_far = carried("far")
    lost = AT - 300
    record = (np.delete(in_far, lost), np.delete(np.cumsum(np.arange(COUNT) == lost), lost))
    assert dwell.of_flow(came, left, out_near, in_far, PATH_NS, record)["far"] == 1


FRAME, SEGMENT = 1500, 1448


def by_side(came: np.ndarray, left: np.ndarray, near: np.ndarray, far: np.ndarray) -> dict[str, int]:
    """The median dwell on each side, where each segment is in a frame of its own."""
    tunnels = [dwell.Tunnel(times, np.full(times.size, FRAME)) for times in (near, far)]
    sides = dwell._sides(came, left, np.full(came.size, SEGMENT), tunnels[0], tunnels[1], PATH_NS)
    assert sides is not None
    found, error_ns = sides
    assert (found.sum(axis=0) == left - came).all() and error_ns <= 3 * STEP_NS
    return {side: int(np.median(row)) for side, row in zip(dwell.SIDES, found, strict=True)}


@pytest.mark.parametrize(("near_ms", "far_ms"), [(0, 0), (300, 0), (300, 40), (7, 150)])
def test_the_dwell_of_each_side_comes_from_amounts(near_ms: int, far_ms: int) -> None:
    """Both gateways hold every octet equally long, except that the far one forwards the first tenth at once."""
    came = np.arange(COUNT, dtype=np.int64) * STEP_NS
    near = came + near_ms * MS
    far = near + PATH_NS
    left = far + np.where(np.arange(COUNT) < COUNT // 10, 0, far_ms * MS)
    found = by_side(came, left, near, far)
    assert found == pytest.approx({"near": near_ms * MS, "tunnel": PATH_NS, "far": far_ms * MS}, abs=STEP_NS)


def test_frames_that_were_lost_do_not_move_the_sides() -> None:
    """A 50th of the frames is lost and sent again 30 ms later; the far gateway waits for each in its turn."""
    came = np.arange(COUNT, dtype=np.int64) * STEP_NS
    again = np.arange(0, COUNT, 50)
    near = np.sort(np.concatenate([came, came[again] + 30 * MS]))
    first = np.delete(came, again) + PATH_NS
    far = np.sort(np.concatenate([first, came[again] + 30 * MS + PATH_NS]))
    own = came + PATH_NS
    own[again] += 30 * MS
    found = by_side(came, np.maximum.accumulate(own), near, far)
    assert found["near"] == pytest.approx(0, abs=3 * STEP_NS)
    assert found["tunnel"] == pytest.approx(PATH_NS, abs=3 * STEP_NS)


def test_octets_that_overtake_others_in_the_near_gateway_do_not_matter() -> None:
    """A small flow next to a long queue: each 100th segment overtakes 300 that wait."""
    came = np.arange(COUNT, dtype=np.int64) * STEP_NS
    near = came + 300 * MS
    near[::100] = came[::100]
    left = near + PATH_NS
    found = by_side(came, left, np.sort(near), np.sort(left))
    assert found == pytest.approx({"near": 300 * MS, "tunnel": PATH_NS, "far": 0}, abs=2 * STEP_NS)


def test_amounts_in_another_order_say_nothing_of_the_sides() -> None:
    """Half of the tunnel's octets come in the last tenth of the time, so the frames cannot be matched with the client's
    octets."""
    came = np.arange(COUNT, dtype=np.int64) * STEP_NS
    sizes = np.where(np.arange(COUNT) < COUNT * 9 // 10, 300, 4000)
    tunnels = [dwell.Tunnel(times, sizes) for times in (came + 300 * MS, came + 300 * MS + PATH_NS)]
    octets = np.full(COUNT, SEGMENT)
    assert dwell._sides(came, came + 300 * MS + PATH_NS, octets, tunnels[0], tunnels[1], PATH_NS) is None


def test_without_captures_of_the_tunnel_the_side_is_not_known() -> None:
    found = dwell.of_flow(*carried("near")[:2], None, None, PATH_NS)
    assert found["stalls"] == 1 and found["near"] is None


def test_the_files_of_a_trial_become_columns(tmp_path: Path) -> None:
    came, left, out_near, in_far = carried("near")
    flow = np.full(COUNT, 3, np.uint32)
    passes = {"flow": flow, "t_in_ns": came, "t_out_ns": left, "len": np.full(COUNT, SEGMENT)}
    parquet.write_table(pa.table(passes), tmp_path / "passes.parquet")
    tunnel = [pa.table({"t_ns": times, "bytes": np.full(COUNT, 1500), "parts": np.ones(COUNT, np.int64),
                        "point": np.full(COUNT, point), "dir": np.zeros(COUNT, np.int64)})
              for point, times in enumerate((out_near, in_far))]  # fmt: skip
    parquet.write_table(pa.concat_tables(tunnel), tmp_path / "tunnel.parquet")
    (tmp_path / "params.json").write_text(json.dumps({"delay_ns": PATH_NS}))
    dwell.write(tmp_path)
    found = dwell.columns(tmp_path, [3])
    assert (found["stalls"], found["stalls_near"], found["stalls_far"]) == (1, 1, 0)
    assert found["stall_near_max_ns"] == LASTED_NS and found["dwell_p50_ns"] == PATH_NS
    assert found["dwell_near_max_ns"] == LASTED_NS and found["dwell_tunnel_p50_ns"] == PATH_NS
    assert found["dwell_far_max_ns"] == 0
    assert set(dwell.columns(tmp_path, [4]).values()) == {None}
