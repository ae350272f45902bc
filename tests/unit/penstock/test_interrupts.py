"""Ctrl-C, wherever it comes."""

import subprocess
import sys


def test_ctrl_c_while_text_is_made_code_exits_with_130(tmp_path):
    """Python would end by the signal, had it an interrupt in mind that passed such code."""
    (tmp_path / "interrupted.py").write_text(
        "from penstock import cli\n"
        "def run(words): exec('raise KeyboardInterrupt')\n"
        "cli._run = run\n"
        "cli.main()\n"
    )
    command = [sys.executable, "-m", "interrupted"]
    environment = {"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 130
