"""What is wrong on the command line is answered with the usage of the command that it is about."""

from __future__ import annotations

import pytest

from cos.cli.arguments import build_parser


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("sessions list --bogus", "usage: cos sessions list "),
        ("sessions --bogus", "usage: cos sessions "),
        ("doctor extra", "usage: cos doctor "),
        ("db status --bogus", "usage: cos db status "),
        ("sessions rename", "usage: cos sessions rename "),
        ("--bogus", "usage: cos [-h] "),
    ],
)
def test_an_error_shows_the_usage_of_its_command(line: str, usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        build_parser().parse_args(line.split())
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith(usage)
