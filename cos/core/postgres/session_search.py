"""Finds messages in the conversations of all sessions of some profiles.

What a search costs depends on what it wants, not on how much there is: messages are looked at block by block, the
newest first, until enough match. Of a word that is said often, the newest `CANDIDATES` messages are ranked among each
other and older ones are not seen; of a rare one, all are. Parts of words are looked for when whole words found too
little: everywhere when the server has pg_trgm, else in the newest `UNINDEXED` messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, LiteralString

import psycopg

from cos.agent.messages import message_from_json
from cos.core.errors import SearchError, SessionError
from cos.core.postgres.statements import core_statements
from cos.core.search_query import SearchQuery, has_trigram, parse_search, pattern
from cos.core.searching import PlacedMessage, RecentSession, SearchHit, SearchResult, SearchWish, Window
from cos.core.snippets import snippet_of

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence
    from uuid import UUID

    from cos.core.postgres.database import Connection, Database, Row

CANDIDATES: Final = 300
"""Messages that are ranked."""
LOOKED_AT: Final = 2_000
"""Messages with all words that are asked for a phrase or an exclusion."""
TITLES: Final = 5_000
"""Sessions whose titles are looked at, by newest activity."""
MOST_TITLES: Final = 20
"""Sessions that come first because of their titles."""
ENOUGH: Final = 3
"""Sessions: with so many, parts of words are not looked for."""
UNINDEXED: Final = 2_000
"""Messages that are looked at for a part of a word when no index can find it."""
MILLISECONDS: Final = 3_000
"""No part of a search takes longer."""
BLOCK_BITS, LARGE_BITS = 13, 16
"""2 to the power of these: messages of a block and of a large one, as sql/core/schema.sql counts them."""
NEAR_BLOCKS: Final = 8
"""Small blocks in which messages are looked at one by one for beginnings of words."""
_WHOLE, _PART = 2, 1
"""Whole words come before parts of words, and a title before both."""


class SessionSearch:
    """Reads only."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("session_search")

    async def find(self, text: str, wish: SearchWish) -> SearchResult:
        """The sessions that fit best to what was typed, each with its best message.

        Raises:
            SearchError: it took too long.
            DatabaseError: the database does not answer. So do all methods here.
        """
        query = parse_search(text)
        if query.is_empty or not wish.profiles:
            return SearchResult(left_out=query.left_out)

        async def work(connection: Connection) -> SearchResult:
            state = (await self._fetched(connection, self._sql["search_bounds"], {"milliseconds": MILLISECONDS}))[0]
            try:
                return await self._find(connection, query, wish, state)
            except psycopg.errors.QueryCanceled as error:
                raise SearchError("the search took too long; use words that are more rare, or fewer of them") from error

        return await self._database.transaction(work)

    async def profiles(self) -> tuple[str, ...]:
        """All profiles that have ever been."""
        return tuple(row["id"] for row in await self._database.fetch(self._sql["profiles"]))

    async def around(self, message_id: UUID, profile_id: str, window: int, *, within: UUID | None = None) -> Window:
        """A message with `window` messages on each side.

        Raises:
            SessionError: the profile has no such message, or not in the tree of session `within`.
        """
        key = {"message_id": message_id, "profile_id": profile_id}
        places = await self._database.fetch(self._sql["place_of_message"], key)
        if not places or (within is not None and within not in (places[0]["root_session_id"], places[0]["session_id"])):
            raise SessionError(f"there is no message {message_id}{f' in session {within}' if within else ''}")
        return await self.window(places[0]["session_id"], places[0]["ordinal"], window, window)

    async def window(self, session_id: UUID, ordinal: int, before: int, after: int) -> Window:
        """Messages around an ordinal; all of a session's messages count, also those that were put away or rewound."""
        key = {"session_id": session_id, "ordinal": ordinal, "before": before, "after": after}
        rows = await self._database.fetch(self._sql["window"], key)
        ends = (await self._database.fetch(self._sql["ordinals"], key))[0]
        messages = tuple(map(_placed, rows))
        first, last = (messages[0].ordinal, messages[-1].ordinal) if messages else (ends["first"], ends["last"])
        return Window(session_id=session_id, messages=messages, before=first - ends["first"], after=ends["last"] - last)

    async def said(self, session_id: UUID, limit: int, *, last: bool = False) -> tuple[PlacedMessage, ...]:
        """The first or last messages in which the user or the model said something, oldest first."""
        key = {"session_id": session_id, "limit": limit, "step": -1 if last else 1}
        rows = await self._database.fetch(self._sql["said"], key)
        return tuple(map(_placed, reversed(rows) if last else rows))

    async def recent(self, profile_id: str, limit: int, *, asking_root: UUID) -> list[RecentSession]:
        """The sessions of a profile with the newest activity, without the one that asks and without child sessions."""
        key = {"profile_id": profile_id, "limit": limit, "asking_root": asking_root}
        rows = await self._database.fetch(self._sql["recent"], key)
        return [RecentSession(**row | {"tags": tuple(row["tags"])}) for row in rows]

    async def _find(self, connection: Connection, query: SearchQuery, wish: SearchWish, state: Row) -> SearchResult:
        parameters = _parameters(query, wish, state["newest"])
        whole = await self._whole(connection, query, parameters)
        titles = await self._ids(connection, self._sql["search_titles"], parameters) if "user" in wish.roles else []
        found = await self._found(connection, dict.fromkeys(whole, _WHOLE), titles, parameters)
        if len(found) < min(wish.limit, ENOUGH) and query.parts:
            is_indexed = state["has_parts"] and has_trigram(query.parts[0])
            by_parts = self._sql["search_parts"] if is_indexed else self._sql["search_newest_parts"]
            parts = await self._ids(connection, by_parts, parameters)
            classes = dict.fromkeys(parts, _PART) | dict.fromkeys(whole, _WHOLE)
            found = await self._found(connection, classes, titles, parameters)
        best = _ordered(found, wish)[: wish.limit]
        counts = {entries[0]["root_session_id"]: len(entries) for entries in found}
        shown = await self._fetched(connection, self._sql["shown"], {"ids": [row["id"] for row in best]})
        texts = {row["message_id"]: row for row in shown}
        marks = query.marks
        return SearchResult(
            hits=tuple(
                _hit(texts[row["id"]], row, counts[row["root_session_id"]], marks) for row in best if row["id"] in texts
            ),
            left_out=query.left_out,
            is_capped=len(whole) >= CANDIDATES,
        )

    async def _whole(self, connection: Connection, query: SearchQuery, parameters: Row) -> list[UUID]:
        """Messages that hold the words."""
        statement = self._sql["search_words"]
        if query.has_prefix and query.words:
            near = await self._near(connection, parameters)
            if len(near) == CANDIDATES:
                return near
            others = parameters | {"words": query.words_but_beginnings, "whole": query.words_but_beginnings}
            if others["words"] and len(await self._ids(connection, statement, others)) < CANDIDATES:
                return await self._ids(connection, statement, others | {"whole": query.whole})
            parameters = parameters | {"places": parameters["few_places"]}
        return await self._ids(connection, statement, parameters) if query.words else []

    async def _near(self, connection: Connection, parameters: Row) -> list[UUID]:
        """What is found in the first blocks, of which the first ones tell whether more are worth looking at."""
        found: list[UUID] = []
        for place in parameters["near_places"]:
            key = parameters | {"place": place, "candidates": CANDIDATES - len(found)}
            found += await self._ids(connection, self._sql["search_near_words"], key)
            if len(found) == CANDIDATES or len(found) * NEAR_BLOCKS < CANDIDATES * 2:
                break
        return found

    async def _found(
        self, connection: Connection, classes: dict[UUID, int], titles: Sequence[UUID], parameters: Row
    ) -> list[list[Row]]:
        """Found messages by the tree that they are in, the best first."""
        ids = list(dict.fromkeys([*classes, *titles]))
        rows = await self._fetched(connection, self._sql["found"], parameters | {"ids": ids}) if ids else []
        in_title = set(titles)
        trees: dict[UUID, list[Row]] = {}
        named = {row["root_session_id"] for row in rows if row["id"] in in_title}
        for row in rows:
            row["in_title"] = row["root_session_id"] in named
            row["class"] = classes.get(row["id"], 0)
            trees.setdefault(row["root_session_id"], []).append(row)
        return [sorted(tree, key=_goodness, reverse=True) for tree in trees.values()]

    async def _ids(self, connection: Connection, statement: LiteralString, parameters: Row) -> list[UUID]:
        return list(dict.fromkeys(row["id"] for row in await self._fetched(connection, statement, parameters)))

    async def _fetched(self, connection: Connection, statement: LiteralString, parameters: Row) -> list[Row]:
        return await (await connection.execute(statement, parameters)).fetchall()


def places(newest: int, step: int) -> list[list[str]]:
    """The blocks from the newest (`step` -1) or the oldest (1) on, as the words of messages name them, place by place.

    `newest`: the number of the newest message. The newest two large blocks are looked at in small ones: most searches
    find enough there.
    """
    near = max(0, (newest >> LARGE_BITS) - 1)
    blocks = [f"large {number}" for number in range(near)]
    blocks += [str(number) for number in range(near << (LARGE_BITS - BLOCK_BITS), (newest >> BLOCK_BITS) + 1)]
    return [[block] for block in blocks[::step]]


def near_places(newest: int, step: int) -> list[list[str]]:
    """The first small blocks: where messages are looked at one by one, without an index of their words."""
    blocks = [str(number) for number in range((newest >> BLOCK_BITS) + 1)[::step][:NEAR_BLOCKS]]
    return [blocks[:2], blocks[2:]]


def few_places(newest: int, step: int) -> list[list[str]]:
    """As `places`, for a search of which each place costs much."""
    blocks = [f"large {number}" for number in range((newest >> LARGE_BITS) + 1)[::step]]
    return [blocks[:4], blocks[4:]]


def _parameters(query: SearchQuery, wish: SearchWish, newest: int) -> Row:
    parts, step = query.parts, 1 if wish.sort == "oldest" else -1
    scopes = [_quotable(f"{profile} {role}") for profile in wish.profiles for role in wish.roles]

    def named(groups: list[list[str]]) -> list[str]:
        return [" | ".join(f"'{scope} {block}'" for block in blocks for scope in scopes) for blocks in groups if blocks]

    return {
        "words": query.words, "whole": query.whole, "titles": TITLES, "alternatives": query.titles,
        "longest": pattern(parts[0]) if parts else "", "patterns": [pattern(part) for part in parts],
        "unwanted": query.unwanted,
        "unindexed": UNINDEXED, "profiles": list(wish.profiles), "live": wish.asking, "step": step,
        "places": named(places(newest, step)), "few_places": named(few_places(newest, step)),
        "near_places": named(near_places(newest, step)), "near": named(near_places(newest, -1))[0],
        "candidates": CANDIDATES, "most_titles": MOST_TITLES, "looked_at": LOOKED_AT, "with_undone": wish.with_undone,
    }  # fmt: skip


def _quotable(word: str) -> str:
    """As it stands between the quotes of a tsquery."""
    return word.replace("\\", "\\\\").replace("'", "''")


def _goodness(row: Row) -> tuple[int, float, int]:
    return row["class"], row["rank"], row["number"]


def _ordered(trees: list[list[Row]], wish: SearchWish) -> list[Row]:
    """The message that stands for each tree, in the wanted order."""
    if wish.sort == "best":
        best = [tree[0] for tree in trees]
        return sorted(best, key=lambda row: (row["in_title"], *_goodness(row)), reverse=True)
    sign = 1 if wish.sort == "oldest" else -1
    ends = [min(tree, key=lambda row: sign * row["number"]) for tree in trees]
    return sorted(ends, key=lambda row: sign * row["number"])


def _hit(shown: Row, row: Row, found: int, marks: list[re.Pattern[str]]) -> SearchHit:
    text = shown.pop("text")
    changed = {"tags": tuple(shown["tags"]), "snippet": snippet_of(text, marks)}
    return SearchHit(**shown | changed, is_undone=row["is_undone"], in_title=row["in_title"], found=found)


def _placed(row: Row) -> PlacedMessage:
    return PlacedMessage(
        id=row["id"], ordinal=row["ordinal"], active=row["active"], created_at=row["created_at"],
        message=message_from_json(row["body"]),
    )  # fmt: skip
