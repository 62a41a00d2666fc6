"""A process that uses an embedded Postgres: reads `attach`, `leave` or `status` on stdin and answers in JSON."""

import atexit
import json
import os
import sys
from pathlib import Path

from cos.core.embedded import EmbeddedPostgres
from cos.core.errors import DatabaseError


def answer(database: EmbeddedPostgres, command: str) -> dict[str, object]:
    try:
        match command:
            case "attach":
                return {"host": database.attach().host}
            case "leave":
                database.leave()
                return {}
            case _:
                status = database.status()
                return {"running": status.running, "pid": status.pid, "users": status.users}
    except DatabaseError as error:
        return {"error": type(error).__name__, "message": str(error)}


def main() -> None:
    database = EmbeddedPostgres(Path(sys.argv[1]))
    if os.environ.get("COS_TEST_LEAVE_AT_EXIT"):
        atexit.register(database.leave)
    for line in sys.stdin:
        print(json.dumps(answer(database, line.strip())), flush=True)


if __name__ == "__main__":
    main()
