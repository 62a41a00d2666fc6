"""Skills as slash commands: `/skill-name text` sends the text, and behind it the skill's instructions.

Up to five may stand before the text, as in Hermes: `/tone /letter text`.
"""

from __future__ import annotations

import asyncio
import textwrap
from typing import TYPE_CHECKING, Final

from cos.agent.text import cells
from cos.core.commands import Command, CommandAnswer, CommandCall, parse_command
from cos.core.errors import SkillError
from cos.core.skills.shelf import whole_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cos.core.commands import Commands
    from cos.core.skills.folder import SkillSet
    from cos.core.skills.shelf import SkillShelf

ORIGIN: Final = "skill"
_SUMMARY_CHARACTERS: Final = 72
"""In lists of commands. The model gets the whole description."""
_MOST_SKILLS: Final = 5
"""In one message, as in Hermes."""
_SENT: Final = """\
The message begins with {names}: the user wants {their} instructions followed now, on what stands behind. {texts}"""
_TEXT: Final = "These are the instructions{of}:\n\n{text}"


class SkillCommands:
    """Fits `cos.core.commands.ProfileCommands`."""

    def __init__(self, shelf: SkillShelf, commands: Commands) -> None:
        self._shelf = shelf
        self._commands = commands

    async def refresh(self, profile_id: str) -> None:
        await self._shelf.read(profile_id)

    def known(self, profile_id: str) -> Sequence[Command]:
        return [
            Command(
                name=skill.name,
                summary=textwrap.shorten(skill.description, _SUMMARY_CHARACTERS, placeholder=" …"),
                run=self._send,
                arguments="[TEXT]",
                needs_session=False,
                origin=ORIGIN,
            )
            for skill in self._shelf.last(profile_id).skills.values()
        ]

    async def _send(self, call: CommandCall) -> CommandAnswer:
        texts: dict[str, str] = {}
        for name in self._names(call):
            skill = await self._shelf.find(call.profile_id, name)
            texts[name] = await asyncio.to_thread(whole_text, skill)
        return CommandAnswer(context=_sent(texts))

    def _names(self, call: CommandCall) -> list[str]:
        """The skills that the message begins with, each once.

        Raises:
            SkillError: there are too many.
        """
        offered = {skill.name for skill in self.known(call.profile_id) if self._commands.owner(skill.name) is None}
        names, argument = [call.name], call.argument
        while (parsed := parse_command(argument)) and parsed[0] in offered:
            name, argument = parsed
            names += [] if name in names else [name]
        if len(names) > _MOST_SKILLS:
            raise SkillError(f"a message may begin with at most {_MOST_SKILLS} skills; this one has {len(names)}")
        return names

    def listing(self) -> Command:
        """`/skills`."""
        return Command(name="skills", summary="the skills of this profile", run=self._list, needs_session=False)

    async def _list(self, call: CommandCall) -> CommandAnswer:
        found = await self._shelf.read(call.profile_id)
        lines = [*skill_lines(found), *shadowed(found, self._commands)]
        return CommandAnswer(text="\n".join(lines) or "This profile has no skills.")

    async def findings(self) -> list[str]:
        """What is wrong with the skills of all profiles, as sentences."""
        said: list[str] = []
        for profile_id in self._shelf.profiles:
            found = await self._shelf.read(profile_id)
            if found.broken:
                more = f" ({len(found.broken)} in the profile {profile_id}; /skills there lists them)"
                said.append(broken_sentence(str(found.broken[0])) + (more if len(found.broken) > 1 else ""))
            said += shadowed(found, self._commands)
        return said


def _sent(texts: Mapping[str, str]) -> str:
    """What the model gets of the skills that a message begins with: their texts by name."""
    if len(texts) == 1:
        ((name, text),) = texts.items()
        return _SENT.format(names=f"the name of a skill, /{name}", their="its", texts=_TEXT.format(of="", text=text))
    names = f"the names of skills, {' '.join(f'/{name}' for name in texts)}"
    parts = [_TEXT.format(of=f" of /{name}", text=text) for name, text in texts.items()]
    return _SENT.format(names=names, their="their", texts="\n\n".join(parts))


def skill_lines(found: SkillSet) -> list[str]:
    """Names, whole descriptions and categories in columns, then what is broken."""
    width = max((cells(name) for name in found.skills), default=0)
    lines = []
    for skill in found.skills.values():
        category = f" ({skill.category})" if skill.category else ""
        lines.append(f"{skill.name:<{width}}  {skill.description}{category}")
    return [*lines, *(broken_sentence(str(error)) for error in found.broken)]


def broken_sentence(problem: str) -> str:
    return f"Left out, a broken skill: {problem}"


def shadowed(found: SkillSet, commands: Commands) -> list[str]:
    """What to say about skills whose slash command would have the name of another command."""
    said = []
    for skill in found.skills.values():
        owner = commands.owner(skill.name)
        if owner is not None:
            said.append(
                f"The skill {skill.name} has no slash command, because /{skill.name} is a command of {owner}: "
                f"give it another name in {skill.file}"
            )
    return said
