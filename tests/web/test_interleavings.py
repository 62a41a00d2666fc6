"""Random interleavings of two servers and two clients: starts, messages, answers, cancels, kills, lost frames.

`COS_TEST_WEB_INTERLEAVINGS` sets for how many seconds it goes on, `COS_TEST_SEED` how chance begins.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.api_server import ApiServer
from tests.api_server.server import KEY
from tests.web.two_servers import PROFILE, Improvising, Trial

if TYPE_CHECKING:
    from pathlib import Path

    from tests.program.fix_program import Program

SECONDS = float(os.environ.get("COS_TEST_WEB_INTERLEAVINGS", "15"))
SEED = int(os.environ.get("COS_TEST_SEED") or random.randrange(10_000))


@pytest.mark.timeout(SECONDS + 180)
async def test_each_client_ends_with_what_is_stored_whatever_happens_when(program: Program, tmp_path: Path) -> None:
    with ApiServer(answer=Improvising(SEED)) as api:
        program.use_api(api, KEY)
        program.profile("home", PROFILE)
        trial = Trial(program, tmp_path, SEED, drop_every=7)
        try:
            await trial.run(SECONDS)
        except BaseException as error:
            error.add_note(f"COS_TEST_SEED={SEED}, {trial.rounds} rounds before: {' '.join(trial.did)}")
            raise
        finally:
            print([client.counts for client in trial.clients], trial.crashes, "crashes", trial.rounds, "rounds")
