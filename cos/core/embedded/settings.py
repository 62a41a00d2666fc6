"""How the embedded server is set up: for one person's few processes, with little memory, and never on a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.core.embedded.connection import PORT, USER

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": str(PORT),
    "max_connections": "50",
    "shared_buffers": "64MB",
    "min_wal_size": "32MB",
    "max_wal_size": "256MB",
    "huge_pages": "off",
    "jit": "off",
    "max_worker_processes": "4",
    # No parallel query: it needs more of /dev/shm than a small container has.
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "autovacuum_max_workers": "1",
    "client_connection_check_interval": "10s",
    "log_checkpoints": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "cluster_name": "cos",
}


def server_options(major: int, sockets: Path) -> list[str]:
    """The `-c name=value` arguments of `postgres`."""
    # Double quotes: the setting is a list, and a folder's name may hold its separators.
    settings = SETTINGS | {"unix_socket_directories": f'"{sockets}"'}
    if major >= 18:
        settings["io_method"] = "sync"
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def initdb_options(major: int) -> list[list[str]]:
    """The arguments of `initdb` but for `-D`, best first; the later ones are for systems without the C.UTF-8 locale.

    LC_CTYPE is never C: pg_trgm would find no letters but those of English.
    """
    common = ["-U", USER, "-E", "UTF8", "-A", "trust", "--data-checksums", "-T", "english"]
    locales = ("C.UTF-8", "en_US.UTF-8")
    if major < 17:
        return [[*common, f"--locale={locale}"] for locale in locales]
    builtin = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    return [[*common, *builtin, f"--lc-ctype={locale}"] for locale in locales]
