"""`cos db backup` and `cos db restore`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cos.cli.db_opening import opened, progress
from cos.core.postgres.backup import BackupError, back_up
from cos.core.postgres.restore import prepare_restore, restore
from cos.core.whole_file import FileIsThereError

if TYPE_CHECKING:
    import argparse

    from cos.cli.db_opening import Opened
    from cos.core.config import Config

DONE = 0


async def backup(config: Config, options: argparse.Namespace) -> int:
    target = Path.cwd() / options.file
    async with opened(config) as found:
        try:
            size = await back_up(found.database, target, force=options.force, bin_dir=config.settings.database.bin_dir)
        except FileIsThereError as error:
            raise FileIsThereError(f"{error}, or --force to replace it") from None
    progress(f"backup written to {target} ({size} bytes)")
    return DONE


async def bring_back(config: Config, options: argparse.Namespace) -> int:
    source = Path(options.file)
    async with opened(config) as found:
        restoring = await prepare_restore(found.database, source, bin_dir=config.settings.database.bin_dir)
        if not restoring.is_empty:
            if not options.force:
                raise BackupError(
                    "there is something in the database; --force replaces it, after a backup of it into the data "
                    "folder. Bring back only what you trust: what a backup says runs with the rights of the database"
                )
            await _keep_safe(config, found)
        await restore(found.database, restoring)
    progress(f"{source} is brought back")
    return DONE


async def _keep_safe(config: Config, found: Opened) -> None:
    folder = config.paths.data_dir / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"before-restore-{datetime.now():%Y%m%d-%H%M%S-%f}.dump"
    await back_up(found.database, target, bin_dir=config.settings.database.bin_dir)
    progress(f"what was there is in {target}")
