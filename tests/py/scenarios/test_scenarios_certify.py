"""lfp certify: distance, records, rules on made-up runs, and runs that were changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.certified_run import SECOND, write_run

from dashboard.certificate import page as certificate_page
from dashboard.certificate import texts as certificate
from dashboard.certificate.dossier import write_dossier
from dashboard.cli import certify
from dashboard.core.runs import Run
from dashboard.run import page as run_page
from netcommon.errors import LfpError, UsageError
from scenarios.certify import distance, dossier, records, seal
from scenarios.plan.plan import load_plan
from scenarios.plan.route import Place, Route

PITTSBURGH = {"name": "Pittsburgh", "latitude": 40.4406, "longitude": -79.9959}
TOKYO = {"name": "Tokyo", "latitude": 35.6762, "longitude": 139.6503}
CERN = {"name": "CERN", "latitude": 46.2339, "longitude": 6.0557}
SILENT = {"name": "Anchorage", "latitude": 61.2181, "longitude": -149.9003, "counts": False}


def broken(run: Path) -> set[str]:
    return {rule["name"] for rule in dossier.make(run)["rules"] if rule["verdict"] == "does not hold"}


def test_distance_of_known_pairs() -> None:
    quarter = [Place(name="equator", latitude=0, longitude=0), Place(name="pole", latitude=90, longitude=0)]
    assert distance.scored_m(quarter) == pytest.approx(10_001_966, abs=1)
    across = [Place(name="east", latitude=10, longitude=179.5), Place(name="west", latitude=10, longitude=-179.5)]
    assert distance.scored_m(across) == pytest.approx(109_639, abs=10)


def test_the_record_of_2004_by_coordinates_and_only_by_places_that_route() -> None:
    found = Route.model_validate({"points": [PITTSBURGH, SILENT, TOKYO, CERN]})
    assert distance.scored_m(found.counted) == pytest.approx(20_471_000, abs=1_000)
    assert found.routers == 1


def test_the_record_of_2004_with_one_more_router_is_the_distance_that_was_scored() -> None:
    """A further router in Amsterdam, where the fibre to CERN landed, or in Chicago gives 20,645 km within 0.1 %."""
    amsterdam = {"name": "Amsterdam", "latitude": 52.3676, "longitude": 4.9041}
    chicago = {"name": "Chicago", "latitude": 41.8781, "longitude": -87.6298}
    for points in ([PITTSBURGH, TOKYO, amsterdam, CERN], [PITTSBURGH, chicago, TOKYO, CERN]):
        found = Route.model_validate({"points": points})
        assert distance.scored_m(found.counted) == pytest.approx(20_645_000, rel=0.001)


def test_distances_that_others_published() -> None:
    """Published: 10,037 km for Sunnyvale–Chicago–CERN, and 32,372 km for Tokyo–Chicago–Amsterdam–Seattle–Tokyo. Ours
    differ by 0.1 % at most."""
    sunnyvale = Place(name="Sunnyvale", latitude=37.3688, longitude=-122.0363)
    chicago = Place(name="Chicago", latitude=41.8781, longitude=-87.6298)
    geneva = Place(name="CERN", latitude=46.233, longitude=6.0557)
    assert distance.scored_m([sunnyvale, chicago, geneva]) == pytest.approx(10_037_000, rel=0.001)
    route = load_plan("lsr-ipv4-single").base.route
    assert sum(distance.legs_m(route.counted)) == pytest.approx(32_372_000, rel=0.001)


def test_distance_counts_up_to_30000_km() -> None:
    route = load_plan("lsr-ipv6-multi").base.route
    assert sum(distance.legs_m(route.counted)) == pytest.approx(32_360_000, abs=1_000)
    assert distance.scored_m(route.counted) == 30_000_000


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([TOKYO], "1 place"),
        ([TOKYO, CERN | {"counts": False}], "'counts': the first and the last place are the hosts"),
        ([TOKYO, CERN | {"latitude": 91}], "91"),
        ([TOKYO, CERN | {"height": 1}], "height"),
    ],
)
def test_a_wrong_route_is_refused(tmp_path: Path, points: list[dict[str, Any]], says: str) -> None:
    tables = [", ".join(f"{key} = {json.dumps(value)}" for key, value in point.items()) for point in points]
    lines = ", ".join(f"{{{table}}}" for table in tables)
    file = tmp_path / "tiny.toml"
    file.write_text(f'[scenario]\nname = "tiny"\n[transfer]\nbytes = "1MB"\n[route]\npoints = [{lines}]\n')
    with pytest.raises(UsageError) as caught:
        load_plan(str(file))
    assert says in str(caught.value) and "tiny.toml" in str(caught.value)


def test_the_last_records_are_the_papers() -> None:
    for kind in records.CLASSES:
        assert records.best("ipv4", kind).score == 264_147 and records.best("ipv6", kind).score == 272_400


def test_a_single_stream_mark_counts_among_several_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = [records.Record("2006-01-01", 10, "a", ("multiple",)), records.Record("2006-02-01", 20, "b", ("single",))]
    monkeypatch.setattr(records, "load", lambda family: marks)
    assert records.best("ipv4", "multiple").score == 20
    assert records.best("ipv4", "single").score == 20
    monkeypatch.setattr(records, "load", lambda family: [marks[0], records.Record("2006-02-01", 5, "b", ("single",))])
    assert records.best("ipv4", "single").score == 5


@pytest.mark.parametrize(
    ("family", "day", "score"),
    [("ipv4", "2006-02-20", 239_820), ("ipv4", "2006-02-21", 264_147), ("ipv6", "2006-12-31", 230_100)],
)
def test_a_run_is_judged_by_the_records_before_its_day(tmp_path: Path, family: str, day: str, score: int) -> None:
    run = write_run(tmp_path / "run", 9_080_000_000, family=family)
    assert records.best(family, "single", day).score == score
    assert broken(run) == {"R10"}
    arguments = [str(run), "--entered", day]
    assert CliRunner().invoke(certify, arguments, standalone_mode=False).return_value == (score == 264_147)
    assert f"{score} Tbit·m/s" in (run / "dossier.html").read_text(encoding="utf-8")
    assert json.loads((run / dossier.NAME).read_text())["entered"] == day
    dossier.check(run, run)


def test_a_day_before_the_first_record_is_refused(tmp_path: Path) -> None:
    arguments = [str(write_run(tmp_path / "run")), "--entered", "2000-03-21"]
    with pytest.raises(UsageError, match="--entered 2000-03-21: the first record of ipv4, single, is of 2000-03-21"):
        CliRunner().invoke(certify, arguments, standalone_mode=False, catch_exceptions=False)
    with pytest.raises(UsageError, match="--entered: not with --check"):
        CliRunner().invoke(certify, [*arguments, "--check"], standalone_mode=False, catch_exceptions=False)


def test_r10_says_what_its_path_can_carry_at_most(tmp_path: Path) -> None:
    """IPv6 in packets of 9,000 octets: 8,928 of them are TCP's data, 9.92 of 10 Gbit/s, 109.3 % of the record."""
    run = write_run(tmp_path / "run", family="ipv6")
    evidence = {one["what"]: one["value"] for one in dossier.make(run)["rules"][-1]["evidence"]}
    assert evidence["score of a path that is never idle, of that record"] == "109.3 %"


def test_a_run_that_keeps_every_rule_but_r2(tmp_path: Path) -> None:
    found = dossier.make(write_run(tmp_path / "run"))
    assert broken(tmp_path / "run") == set() and found["certified"]
    assert [rule["name"] for rule in found["rules"]] == ["R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R10"]
    assert found["rules"][1]["verdict"] == "cannot be shown by emulation"
    assert (found["score_tbit_m_per_s"], found["class"], found["clock"]) == (294_000, "single", "real")


@pytest.mark.parametrize(
    ("changed", "rules"),
    [
        ({"elapsed_ns": 599 * SECOND}, {"R1"}),
        ({"points": []}, {"R1", "R8", "R10"}),
        ({"gateway": "lft"}, {"R3"}),
        ({"mptcp": True}, {"R3"}),
        ({"commits": {"rttcp": "0123456789ab-dirty"}}, {"R4"}),
        ({"verify": False, "verified": "off"}, {"R7"}),
        ({"routers": 2}, {"R8"}),
        ({"rtt_ns": 200_000_000}, {"R8"}),
        ({"rate_bps": 9_600_000_000}, {"R10"}),
        ({"family": "ipv6"}, {"R10"}),
    ],
)
def test_a_rule_that_does_not_hold_is_said(tmp_path: Path, changed: dict[str, Any], rules: set[str]) -> None:
    assert broken(write_run(tmp_path / "run", **changed)) == rules


def test_information_that_is_missing_breaks_r5(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "trials" / "0000" / "tcp_info.parquet").unlink()
    seal.write(run)
    assert broken(run) == {"R5"}


def test_the_command_writes_both_files_and_its_status_tells(tmp_path: Path) -> None:
    for rate_bps, status in ((9_800_000_000, 0), (9_000_000_000, 1)):
        run = write_run(tmp_path / str(rate_bps), rate_bps)
        done = CliRunner().invoke(certify, [str(run)], standalone_mode=False)
        assert done.return_value == status
        page = (run / "dossier.html").read_text(encoding="utf-8")
        assert "real time" in page and "264147 Tbit·m/s" in page and "https://" not in page.partition("<h1>")[2][:2000]
        assert CliRunner().invoke(certify, [str(run), "--check"], standalone_mode=False).return_value == 0
        assert sorted(file.name for file in run.glob("*dossier*")) == ["dossier.html", "dossier.json"]


@pytest.mark.parametrize("name", ["manifest.json", "results.parquet", "trials/0000/transfer.json"])
def test_a_changed_file_is_named(tmp_path: Path, name: str) -> None:
    run = write_run(tmp_path / "run")
    with (run / name).open("a") as file:
        file.write(" ")
    with pytest.raises(LfpError, match=rf"{name}: changed since the run's end") as caught:
        dossier.make(run)
    assert caught.value.status == 1 and "\n" not in str(caught.value)


def test_files_that_came_or_went_are_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    more = run / "trials" / "0000" / "more.json"
    more.write_text("{}")
    with pytest.raises(LfpError, match=r"more\.json: added"):
        dossier.make(run)
    more.unlink()
    (run / "results.parquet").unlink()
    with pytest.raises(LfpError, match=r"results\.parquet: removed"):
        dossier.make(run)


def test_check_finds_a_run_that_was_sealed_again_and_a_changed_dossier(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    CliRunner().invoke(certify, [str(run)], standalone_mode=False)
    file = run / dossier.NAME
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"certified": true', '"certified": false'), encoding="utf-8")
    with pytest.raises(LfpError, match=r"dossier\.json: not what this run gives"):
        dossier.check(run, run)
    file.write_text(text, encoding="utf-8")
    (run / "results.parquet").write_bytes(b"other")
    seal.write(run)
    with pytest.raises(LfpError, match=r"results\.parquet: its SHA-256"):
        dossier.check(run, run)


def test_the_page_of_a_run_shows_its_certificate(tmp_path: Path) -> None:
    path = write_run(tmp_path / "lsr")
    manifest = json.loads((path / "manifest.json").read_text())
    run = Run(path, manifest, (), frozenset())
    assert "/run/lsr/certificate" in str(run_page.page(run))
    assert "certificate" not in str(run_page.page(Run(path, manifest | {"scenario": {}}, (), frozenset())))
    said = str(certificate_page.page(run))
    assert certificate.HOLDS in said and "294000 Tbit·m/s" in said and "R2 cannot be shown by emulation" in said
    assert "'Tokyo'" in said and "Judged now" in said
    write_dossier(dossier.make(path), path)
    assert "This is the run's dossier.json" in str(certificate_page.page(run))
    assert certificate.HOLDS in (path / "dossier.html").read_text()
    (path / "dossier.json").unlink()
    (path / "trials" / "0000" / "params.json").write_text("{}")
    said = str(certificate_page.page(run))
    assert "Not certified: " in said and "params.json" in said
