"""In virtual time a gateway's programs find the files next to their scenario, and may write to temporary folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.virtual import virtual

pytestmark = [pytest.mark.netns, *virtual]

ROOT = Path(__file__).resolve().parents[2]
# A start script as vendors deliver them: it writes a configuration file, which the program reads.
START = """\
#!/bin/sh
for folder in /tmp /var/tmp "$HOME" "$TMPDIR"; do
    echo "$2" > "$folder/gateway-$1.conf" || exit 9
done
cat ./relays.conf > /tmp/copied || exit 8
for p in $3; do socat "tcp-l:$p,fork" "tcp:$(cat "$HOME/gateway-$1.conf"):$p" & done
wait
"""
SCENARIO = """
[path]
delay = "5ms"
[transfer]
bytes = "100KB"
[gateway]
kind = "command"
model = "proxy"
near = "./start.sh near $far '$ports'"
far = "./start.sh far $receiver '$ports'"
"""


def test_a_start_script_beside_the_scenario_writes_its_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "product"
    folder.mkdir()
    (folder / "product.toml").write_text(SCENARIO)
    (folder / "start.sh").write_text(START)
    (folder / "start.sh").chmod(0o755)
    (folder / "relays.conf").write_text("relays\n")
    argv = [sys.executable, "-m", "lfp", "run", f"{folder}/product.toml", "--time", "virtual", "--seed", "1",
            "--runs-dir", str(tmp_path / "runs")]  # fmt: skip
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "valid" in done.stdout and "NOT VALID" not in done.stdout, done.stdout
    assert not Path("/tmp/gateway-near.conf").exists(), "what a guest writes stays in the guest"
