"""Which command lines only read, and which paths lead outside the workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from cos.core.shell.parsed import parse
from cos.core.shell.risk import command_risk, outside_paths


@pytest.mark.parametrize(
    "text",
    ["ls", "ls -la src", "cat a b", "git status", "git --no-pager log -n 5", "git diff HEAD~1 -- a", "git branch -a",
     "git remote -v", "git stash list", "ls | wc -l", "cd src && ls", "ls; pwd\nwhoami",
     "grep -rn 'a b' src 2>/dev/null",
     "ls > /dev/null 2>&1", "wc -l < a", "cat src/*.c", "/bin/ls", "/usr/bin/wc -l a", "find . -name '*.c' -type f",
     "sort -u a | uniq -c", "date -u +%F", "printf '%s\\n' a", "sort -k2 a", "ls &", "grep -l --include='*.c' a b",
     "rg --files -n a", "git log --pretty=format:%h", "diff -u a b", "tree -L 2", "du -sh a", "file a",
     "find . -size 1", "ls -lh --color a"],
)  # fmt: skip
def test_line_of_reading_commands_is_read(text: str) -> None:
    assert command_risk(text) == "read"


@pytest.mark.parametrize(
    "text",
    ["rm a", "ls; rm a", "ls > a", "ls >> a", "ls 2> a", "ls &> a", "ls >& a", "ls <> a", "cat < /dev/tcp/h/80", "./ls",
     "/tmp/ls", "../bin/ls", "A=1 ls", "PATH=. ls", "ls $x", "ls `a`", "ls $(a)", "ls *", "cat -*", "ls {a,b}", "ls ~",
     "env ls", "xargs ls", "sudo ls", "time ls", "! ls", "(ls)", "ls # a", "find . -delete", "find . -exec ls {} +",
     "find . -fprint a", "find . -ok ls {} +", "sort -o a b", "sort -uo a b", "sort --compress-program=x a",
     "sort --outp=a b",
     "uniq a b", "date -s 1", "date 0101", "hostname x", "printf -v PATH x", "printf '%n' 'a[$(x)]'",
     "rg --pre x y", "tree -o a",
     "git -c core.pager=x log", "git -C x status", "git -p log", "git --exec-path=. log", "git diff --ext-diff",
     "git diff --output=a", "git log --outpu=a", "git show --textconv", "git grep -Ox y", "git branch x",
     "git branch -D x",
     "git tag x", "git remote add a b", "git stash", "git commit", "git config -l", "cd -", "cd", "type -a x", "ls 'a",
     "tee a", "sed -n 1p a", "awk 1 a", "less a", "python3 a", "[ -f a ]", "export A", "alias ls=rm", "ls\x00", "",
     # programs and keys
     "git grep -lOsh id", "git grep -hOx id", "git grep --open id", "git grep x", "ps axeww", "ps", "rg -.z a",
     # patterns that bash and Python read differently, folders that are not known
     "cat l[^x]nk/hostname", "cat a[[:alpha:]]", "cat a[b]", "cd d*/ && cat inner/x", "cd d? && ls",
     # links that are followed, lists of files
     "grep -R a", "grep -nR a .", "grep --dereference-recursive a", "grep --deref a", "grep -f a b", "grep -fa b",
     "grep -fhn b", "grep -nfa b", "grep --file=a b", "grep --fil a b", "egrep -R a", "file -f a", "file -bf a",
     "file --files-from=a", "file --files a", "find -L .", "find -H .", "find -EL .", "find . -follow",
     "find -files0-from a", "rg -L a", "rg -nL a", "rg --follow a", "rg -f a", "rg --file a", "ls -LR", "ls -R -H a",
     "ls -R --dereference", "diff -r a b", "diff -ur a b", "diff --recursive a b", "diff --rec a b", "du -L a",
     "du -aD a", "du --files0-from=a", "du --deref a", "tree -l", "tree -al", "wc --files0-from=a", "wc --f a",
     "sort --files0-from=a", "sort --fi a",
     # files of commits
     "git show HEAD:../x", "git show :/", "git diff HEAD:../x HEAD:y", "git log -L1,5:../x", "git rev-parse :../x",
     "git cat-file -p HEAD:../x", "git cat-file --batch", "git cat-file --batch-c", "git log --std"],
)  # fmt: skip
def test_anything_else_executes(text: str) -> None:
    assert command_risk(text) == "execute"


@pytest.mark.parametrize(
    "text",
    ["curl x", "sudo wget x", "git push", "git -C a fetch", "pip install x", "ls; ssh h", "bash -c 'curl x'",
     "x=$(curl y)",
     "/usr/bin/curl x", "npm ci", "apt-get update"],
)  # fmt: skip
def test_talking_to_the_network_is_network(text: str) -> None:
    assert command_risk(text) == "network"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "proj-evil").mkdir()
    (folder / "out").symlink_to(tmp_path / "proj-evil")
    (folder / "sub" / "link").symlink_to("/etc/hosts")
    return folder


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ls", ()),
        ("ls sub ./sub sub/../x main..HEAD a/b/c", ()),
        ("ls >/dev/null 2>&1", ()),
        ("ls ..", ("..",)),
        ("cat ../proj-evil/x", ("../proj-evil/x",)),
        ("cat /etc/passwd 'a b'", ("/etc/passwd",)),
        ("cat ~/x", ("~/x",)),
        ("cat out/x", ("out/x",)),
        ("cat sub/link", ("sub/link",)),
        ("cat sub/l*", ("sub/l*",)),
        ("grep --file=/etc/x y", ("--file=/etc/x",)),
        ("grep -f/etc/x y", ("-f/etc/x",)),
        ("grep -f../../x y", ("-f../../x",)),
        ("wc < /etc/x", ("/etc/x",)),
        ("cd sub && cat ../x", ("../x",)),
        ("cd out; cat x", ("out", "x")),
        ("ls; cat $x", ("$x",)),
        ("cat s*/x sub/?", ()),
        ("cat /etc/passw**", ("/etc/passw**",)),
        ("ls /ro**", ("/ro**",)),
        ("cat /proc/self/envi**", ("/proc/self/envi**",)),
        ("cat sub/**", ("sub/**",)),
        ("cat s[^x]b/x s[[:alpha:]]b", ("s[^x]b/x", "s[[:alpha:]]b")),
        ("cat '['*", ("'['*",)),
        ("cat a*=/etc/x", ("a*=/etc/x",)),
        ("cat a*=b a]", ()),
        ("cd s*/ && cat x", ("s*/",)),
        ("cd sub && cat lin?", ("lin?",)),
    ],
)
def test_words_that_lead_outside_are_named(workspace: Path, text: str, found: tuple[str, ...]) -> None:
    assert outside_paths(parse(text), workspace, workspace) == found


def test_more_folders_than_are_followed_lead_outside(workspace: Path) -> None:
    line = " && ".join(f"cd sub{number}" for number in range(20))
    assert outside_paths(parse(line), workspace, workspace) != ()


def test_paths_count_from_the_working_folder(workspace: Path) -> None:
    assert outside_paths(parse("cat ../x"), workspace, workspace / "sub") == ()
