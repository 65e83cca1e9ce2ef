"""Settings that a scenario gives relative to others: a delay by the length of the fibre, sizes in BDP."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon import readable
from netcommon.errors import UsageError
from scenarios.plan import params
from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, load_plan, make_plan


def plan(*overrides: str) -> Plan:
    return load_plan("lfp-syndrome", overrides=[*overrides, "profile.name=modern", "transfer.window=64KB"])


def test_a_distance_is_a_delay() -> None:
    """lfp-1995: 8.4 ms there and back over 880 km."""
    path = plan("path.distance=880km").base.path
    assert path.rtt_ns() == pytest.approx(8.4e6, rel=0.003)
    assert path.direction("ab").changed()["delay_ns"] == path.rtt_ns() // 2


def test_results_have_the_distance_and_the_delay() -> None:
    found = params.of(plan("path.distance=15770km").trials[0])
    assert found["distance_m"] == 15_770_000 and found["delay_ns"] == 75_095_238
    assert readable.named("distance_m", found["distance_m"]) == "15770 km"


def test_one_way_may_have_a_delay_of_its_own() -> None:
    path = plan("path.distance=2100km", "path.ba_delay=1ms").base.path
    assert path.rtt_ns() == 11_000_000


@pytest.mark.parametrize(
    "order", [("path.delay=1ms", "path.distance=880km"), ("path.distance=880km", "path.delay=1ms")]
)
def test_the_later_one_of_distance_and_delay_holds(order: tuple[str, str]) -> None:
    path = plan(*order).base.path
    assert path.rtt_ns() == (2_000_000 if order[1] == "path.delay=1ms" else 8_380_952)


def test_a_sweep_keeps_the_ratio_to_the_bdp() -> None:
    swept = plan("path.rate=80Mbit,8Mbit", "path.delay=50ms", "path.queue=0.5 BDP").trials
    assert [trial.setting.path.queue for trial in swept] == [500_000, 50_000]


def test_the_slowest_line_of_a_direction_counts() -> None:
    path = plan(
        "path.rate=80Mbit",
        "path.access_rate=8Mbit",
        "path.ba_rate=4Mbit",
        "path.delay=50ms",
        "path.queue=1bdp",
        "path.ba_queue=1 BDP",
    ).base.path
    assert path.direction("ab").values["queue"] == 100_000 and path.direction("ba").values["queue"] == 50_000


def test_a_plan_made_again_from_its_manifest_is_the_same() -> None:
    """A guest and --resume make the plan in this way."""
    first = plan("path.distance=1000km,3000km", "path.queue=0.5 BDP", "transfer.bytes=2 BDP", "path.rate=80Mbit")
    again = make_plan(Document("manifest", first.echo))
    sizes = [(trial.setting.path.queue, trial.setting.transfer.bytes) for trial in first.trials]
    assert [(trial.setting.path.queue, trial.setting.transfer.bytes) for trial in again.trials] == sizes
    assert len(set(sizes)) == 2


def test_a_sweep_over_multiples() -> None:
    swept = load_plan("lfp-syndrome", overrides=["transfer.window=0.25 BDP,2 BDP", "profile.name=modern"]).trials
    assert [trial.setting.transfer.window for trial in swept] == [11_812, 94_500]  # 45 Mbit/s x 8.4 ms


CASES = """
[scenario]
name = "cases"
[path]
rate = "80Mbit"
queue = "0.5 BDP"
[transfer]
bytes = "2 BDP"
[case.near.path]
delay = "5ms"
[case.far.path]
delay = "50ms"
"""


@pytest.mark.parametrize("where", ["case", "sweep"])
def test_the_delay_of_a_bdp_may_stand_in_a_case_or_in_the_sweep_alone(tmp_path: Path, where: str) -> None:
    swept = '"scenario.case" = ["near", "far"]' if where == "case" else '"path.delay" = ["5ms", "50ms"]'
    file = tmp_path / "cases.toml"
    file.write_text(f"{CASES}[sweep]\n{swept}\n")
    first = load_plan(str(file))
    sizes = [(trial.setting.path.queue, trial.setting.transfer.bytes) for trial in first.trials]
    assert sizes == [(50_000, 200_000), (500_000, 2_000_000)]
    again = make_plan(Document("manifest", first.echo))
    assert [(trial.setting.path.queue, trial.setting.transfer.bytes) for trial in again.trials] == sizes


def test_a_case_without_a_delay_has_no_bdp(tmp_path: Path) -> None:
    file = tmp_path / "cases.toml"
    file.write_text(CASES.replace('delay = "50ms"', 'loss = "1%"') + '[sweep]\n"scenario.case" = ["near", "far"]\n')
    with pytest.raises(UsageError, match=r"path\.queue = '0\.5 BDP': a path without delay has no BDP"):
        load_plan(str(file))


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("path.delay=0", "path.queue=0.5 BDP"), "path.queue = '0.5 BDP': a path without delay has no BDP"),
        (("path.rate=0", "path.access_rate=0", "path.queue=1 BDP"), "set path.rate, or give a size such as 110KB"),
        (("path.queue=0 BDP",), "less than a byte; want for example 0.5 BDP"),
        (("path.queue=1 BDP", "path.rate=fast"), "path.rate = 'fast': not a rate"),
        (("path.queue=1 BPD",), "path.queue = '1 BPD': not a size"),
        (("path.distance=5 miles",), "path.distance = '5 miles': not a distance; want for example 1000km or 250m"),
    ],
)
def test_errors_name_the_key_and_what_helps(overrides: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan(*overrides)
    assert said in str(refused.value)


def test_distance_and_delay_together_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "both.toml"
    file.write_text('[scenario]\nname = "both"\n[path]\ndelay = "1ms"\ndistance = "5km"\n[transfer]\nbytes = "1MB"\n')
    with pytest.raises(UsageError, match="give either 'delay' or 'distance'"):
        load_plan(str(file))
