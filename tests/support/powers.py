"""Runs a program so that permissions of files hold: root may otherwise write anywhere."""

import os
import shutil
import subprocess
from collections.abc import Sequence

import pytest

POWERS = "-dac_override,-dac_read_search"


def run_without_powers(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """The ended program, with its texts. Skips the test for root where no `setpriv` takes its powers away."""
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write anywhere, and there is no setpriv")
        command = ["setpriv", f"--bounding-set={POWERS}", f"--inh-caps={POWERS}", *command]
    return subprocess.run(command, capture_output=True, text=True, check=False)
