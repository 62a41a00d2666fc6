"""`cos sessions search`: what was found, for a plain terminal and as JSON."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from cos.agent.errors import CosError
from cos.agent.text import visible
from cos.core.searching import SPOKEN, SearchWish

if TYPE_CHECKING:
    from cos.core.postgres.session_search import SessionSearch
    from cos.core.searching import SearchHit, SearchResult

_ROLES = {"tool": "tool_result"}


async def searched(search: SessionSearch, options: argparse.Namespace) -> str:
    """What to print of the sessions that fit.

    Raises:
        CosError: there is no such profile, or the search takes too long.
    """
    profiles = await search.profiles()
    if options.profile is not None and options.profile not in profiles:
        raise CosError(f"there is no profile {options.profile!r}; there are {', '.join(profiles) or 'none yet'}")
    roles = tuple(_ROLES.get(role, role) for role in options.roles or ())
    wish = SearchWish(
        profiles=(options.profile,) if options.profile else profiles,
        limit=options.limit,
        sort=options.sort,
        roles=roles or SPOKEN,
    )
    result = await search.find(" ".join(options.text), wish)
    if options.json:
        return json.dumps([hit_object(hit) for hit in result.hits], ensure_ascii=False)
    return _told(result)


def hit_object(hit: SearchHit) -> dict[str, Any]:
    """One hit as an object of JSON. `session_id` is the root; the message may be in a child session."""
    return {
        "session_id": str(hit.root_session_id), "match_session_id": str(hit.session_id),
        "match_message_id": str(hit.message_id), "profile_id": hit.profile_id, "title": hit.title,
        "tags": list(hit.tags), "source": hit.source, "model": hit.model, "matched_role": hit.role,
        "when": hit.created_at.isoformat(), "last_activity_at": hit.last_activity_at.isoformat(),
        "snippet": hit.snippet.marked, "messages_found": hit.found, "title_matches": hit.in_title,
        "archived": hit.is_archived,
    }  # fmt: skip


def _told(result: SearchResult) -> str:
    lines = [line for hit in result.hits for line in _lines(hit)]
    if not lines:
        lines.append("Nothing was found.")
    if result.is_capped:
        lines.append("Many messages match; only some of them were ranked. More words narrow it down.")
    if result.left_out:
        lines.append(f"The last {result.left_out} words were not looked for: the text is too long.")
    return "\n".join(lines)


def _lines(hit: SearchHit) -> list[str]:
    title = " ".join(visible(hit.title or "(no title)").split())
    words = [str(hit.root_session_id), f"{hit.created_at.astimezone():%Y-%m-%d %H:%M}", hit.profile_id, title]
    words += [visible(tag) for tag in hit.tags] + (["(archived)"] if hit.is_archived else [])
    where = "child session, " if hit.is_in_child else ""
    return ["  ".join(words), f"    {where}{hit.role}: {visible(hit.snippet.marked)}"]
