"What the tests of the command share."
import io
import sys

import pytest

from annotated_transformer import cli


@pytest.fixture
def command(capsys, monkeypatch):
    "Calls the command in this process: its status, standard output and standard error."

    def call(*arguments, stdin: bytes = b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="ascii"))
        capsys.readouterr()
        status = 0
        try:
            cli.main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code or 0
        return status, *capsys.readouterr()

    return call


@pytest.fixture
def complaint(command):
    "Calls the command with bad input: its one sentence, after a check that there is nothing else."

    def call(*arguments, stdin: bytes = b""):
        status, out, err = command(*arguments, stdin=stdin)
        assert status == 2 and out == ""
        assert err.startswith("annotated-transformer: ") and err.endswith("\n") and err.count("\n") == 1
        assert "Traceback" not in err
        return err.removeprefix("annotated-transformer: ").rstrip("\n")

    return call
