"""Programs that know nothing of gateways, through the router model and through the proxies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lft_applications as applications
import pytest
from lft_lab import Lab
from support.virtual import in_virtual_time, virtual

pytestmark = [pytest.mark.netns, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with applications.gateways() as made:
        yield made


@pytest.mark.parametrize("by", applications.HOSTS)
@pytest.mark.parametrize("name", applications.APPLICATIONS)
def test_an_application(lab: Lab, name: str, by: str, tmp_path: Path) -> None:
    if not_there := applications.missing(name):
        pytest.skip(f"not installed: {not_there}")
    applications.through(lab, applications.APPLICATIONS[name][0], by, tmp_path)


@pytest.mark.virtual
@virtual[1]
def test_every_application_in_virtual_time() -> None:
    print(in_virtual_time(applications.every_application, spin="0"))
