"""The floor: no catastrophe slips by in a wrapper, and what only looks like one is left alone. Nothing is run here."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cos.core.shell.floor import catastrophe

HOME = Path("/home/me")
WORKSPACE = Path("/home/me/work/acme")

# One simple command each, without anything that only a shell resolves.
PLAIN = [
    "rm -rf /",
    "rm -fr / --verbose",
    "rm -r -f /home",
    "rm -rf /home/me/",
    "rm -rf /home/other",
    "rm -rf /root",
    "rm -rf /./etc//",
    "rm -rf /tmp/../etc",
    "rm --recursive --force /usr",
    "rm --rec /usr",
    "rm -rf ./build /lib",
    "rm -rf -- /boot",
    "rm / -rf",
    "rm -rf --no-preserve-root x",
    "rm -rf ../../../../../../..",
    "/bin/rm -rf /var",
    "find / -delete",
    "find / -type f -exec rm -f {} +",
    "find /home/me -exec rm -rf {} +",
    "mkfs.ext4 /dev/sda1",
    "mkfs -t ext4 /dev/sda",
    "dd if=/dev/zero of=/dev/sda bs=1M",
    "tee /dev/sda",
    "cp x /dev/sdb",
    "mv / x",
    "wipefs -a /dev/sda",
    "shred -n 1 /dev/nvme0n1",
    "blkdiscard /dev/mmcblk0",
    "chmod -R 777 /",
    "chown -R me:me /etc",
    "kill -9 -1",
    "kill -1",
    "kill -KILL -1",
    "kill -s KILL -1",
    "kill -- -1",
    "shutdown -h now",
    "reboot",
    "/sbin/reboot -f",
    "halt",
    "poweroff",
    "init 0",
    "init 6",
    "telinit 6",
    "systemctl reboot",
    "systemctl --force poweroff",
    "systemctl kexec",
    "systemctl isolate reboot.target",
    "systemctl isolate poweroff.target",
    "systemctl start runlevel6.target",
    "rsync -a --delete x/ /home/me",
    "tee /proc/sysrq-trigger",
    "sgdisk -Z /dev/sdz",
    "sgdisk --zap-all x",
    "parted -s /dev/sdz mklabel gpt",
    "cryptsetup luksFormat x",
]
# What the shell resolves first.
WRITTEN = [
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf ~/*",
    "rm -rf ~/.*",
    "rm -rf ~root",
    "rm -rf ~bob/",
    "rm -rf $HOME",
    'rm -rf "${HOME}/"',
    'rm -rf "$HOME"/*',
    "rm -rf /*",
    "rm -rf /e*",
    "rm -rf /home/*",
    "rm -rf {/etc,/x}",
    "rm -rf /{etc,usr}",
    "r\\m -rf /",
    "\\rm -rf /",
    '\'rm\' -"rf" "/"',
    "$'\\x72m' -rf /",
    "rm -rf /\\\n",
    "rm \\\n  -rf \\\n  /",
    "r\\\nm -rf /",
    "rm -\\\nrf ~",
    "rm -rf /e\\\ntc",
    "shut\\\ndown now",
    "mkf\\\ns.ext4 /dev/sda",
    'r"\\\nm" -rf /',
    "r\\\n\\\nm -rf /",
    "# x\\\nreboot",
    "# x \\\nreboot",
    "bash -c rm\\ \\\n-rf\\ /",
    "echo x\\\\\nreboot",
    "echo x\\\\\\\ny; reboot",
    "X=/; rm -rf $X",
    'export X=/etc; rm -rf "$X"',
    "C='rm -rf /'; $C",
    "rm -rf ${X:-/}",
    "cd / && rm -rf *",
    "cd ~; rm -rf .",
    "cat x > /dev/nvme0n1",
    "cat x >/dev/sda",
    "echo b > /proc/sysrq-trigger",
    ":(){ :|:& };:",
    ":(){ : | : & } ; :",
    "bomb() { bomb | bomb & }; bomb",
    "function f { f | f & }; f",
    "echo / | xargs rm -rf",
    "ls -d /* | xargs rm -rf",
    "ls / | sort | xargs -n 1 sudo rm -rf",
    "find / | xargs rm -rf",
    "find / -print0 | xargs -0 rm -rf",
    "rm -rf $(ls -d /*)",
    "rm -rf /$(ls /)",
    "rm -rf `find / -maxdepth 1`",
    'rm -rf "$(echo /)"',
    "X=$(ls -d /*); rm -rf $X",
    "for d in /*; do rm -rf $d; done",
    'for d in a /etc; do rm -rf "$d"; done',
    "for d in $(ls -d /*); do sudo rm -rf ${d}; done",
    "cd / && find -delete",
    "cd / && find -type f -delete",
    "rsync -a --delete X ~/",
]
WRAPPERS = [
    "{}",
    "sudo {}",
    "sudo -u root {}",
    "sudo -n --preserve-env=X -E {}",
    "sudo --unknown-option value {}",
    "doas {}",
    "env A=1 {}",
    "env -i {}",
    "A=1 {}",
    "nohup {} &",
    "nice -n 19 ionice -c 3 {}",
    "time {}",
    "timeout 5 {}",
    "command {}",
    "exec {}",
    "xargs -I % {}",
    "coproc {}",
    "! {}",
    "( {} )",
    "{{ {}; }}",
    "true; {}",
    "true && {}",
    "false || {}",
    "x | {}",
    "x & {}",
    "x\n{}",
    "{} # nothing",
    "{} > /dev/null 2>&1",
    "[ -e x ] && {}",
    "if true; then {}; fi",
    "for i in 1 2; do {}; done",
    "while :; do {}; done",
    "case x in x) {};; esac",
    "f() {{ {}; }}; f",
    "echo $({})",
    'echo "$({})"',
    "echo `{}`",
    "X=$({})",
    "diff <({}) x",
    "bash -c {quoted}",
    "sh -ec {quoted}",
    "sudo bash -lc {quoted}",
    "bash -c {twice}",
    "eval {quoted}",
    "watch {quoted}",
    "trap {quoted} EXIT",
    "su - root -c {quoted}",
    "env -S {quoted}",
    "echo {quoted} | sh",
    "echo {quoted} | sudo bash -s",
    "bash <<< {quoted}",
    "bash <<END\n{}\nEND",
    "cat <<END | bash\n{}\nEND",
    # Not even parsed:
    "{}\x00",
    "ls;{}\r\n",
    "ls (; {}",
    "echo 'a; {}",
    "\u200b; {}",
    "x ;; {}",
]
NEEDS_A_SHELL = ["{}", "( {} )", "true; {}", "x\n{}", "bash -c {quoted}", "eval {quoted}", "echo {quoted} | sh"]


def wrapped(wrapper: str, command: str) -> str:
    twice = f"sh -c {shlex.quote(command)}"
    return wrapper.format(command, quoted=shlex.quote(command), twice=shlex.quote(twice))


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_no_wrapper_hides_a_catastrophe(wrapper: str) -> None:
    missed = [line for one in PLAIN if not catastrophe(line := wrapped(wrapper, one), home=HOME)]
    assert missed == []


@pytest.mark.parametrize("wrapper", NEEDS_A_SHELL)
def test_no_way_of_writing_hides_a_catastrophe(wrapper: str) -> None:
    missed = [line for one in WRITTEN if not catastrophe(line := wrapped(wrapper, one), home=HOME)]
    assert missed == []


@pytest.mark.parametrize(
    "line",
    [
        "echo reboot",
        "sudo echo reboot",
        "man reboot",
        "which shutdown",
        "npm run reboot",
        "shutdown -c",
        "systemctl status reboot.target",
        "systemctl list-units",
        "mkfs --help",
        "rm file",
        "rm -rf ./build",
        "rm -rf build/* dist",
        "rm -rf /tmp/x",
        "rm -rf ~/work/acme/build",
        "rm -rf $X/build",
        "rm -rf *",
        "rm -rf ..",
        "cd build && rm -rf *",
        "find . -delete",
        "find / -name '*.pyc' -delete",
        "find ~ -name x -exec rm {} +",
        "dd if=x of=y",
        "git commit -m 'rm -rf /'",
        "grep -r 'rm -rf /' .",
        'echo "rm -rf /"',
        "echo rm -rf / | cat",
        "echo 'shutdown now' > x",
        "cat <<END > x\nrm -rf /\nEND",
        "kill -1 123",
        "kill -9 123",
        "kill %1",
        "chmod -R 755 build",
        "chmod 755 /",
        "ls /dev/sda",
        "x > /dev/null 2>&1",
        "f() { echo f; }; f",
        "echo ':(){ :|:& };:'",
        "cp a b",
        "mv ~/a b",
        "python3 -c 'print(\"reboot\")'",
        "rsync -a / /backup",
        "for f in *.c; do rm -f $f; done",
        "ls (; echo reboot",
        "find . -delete",
        "find -delete",
        "find / -name x -print0 | xargs -0 rm -rf",
        "find ~ | grep cache | xargs rm -rf",
        "ls / | xargs -n 1 echo",
        "rm -rf $(find . -name build)",
        "rm -rf build/$(ls /)",
        "for d in a b; do rm -rf $d; done",
        "for d in /*; do ls $d; done",
        "rsync -a --delete x/ ~/work/acme/y",
        "rsync -an --delete x/ ~",
        "rsync -a --delete ~/ host:~/",
        "sgdisk -p /dev/sda",
        "parted /dev/sda print",
        "cryptsetup status x",
        "systemctl isolate multi-user.target",
        "docker run \\\n  -v a:b \\\n  x",
    ],
)
def test_what_only_looks_like_a_catastrophe_is_left_alone(line: str) -> None:
    assert catastrophe(line, cwd=WORKSPACE, home=HOME) is None


def test_relative_path_counts_from_the_working_folder() -> None:
    assert catastrophe("rm -rf ../..", cwd=WORKSPACE, home=HOME) is not None
    assert catastrophe("rm -rf ../..", cwd=WORKSPACE / "a" / "b", home=HOME) is None
    assert catastrophe("rm -rf *", cwd=HOME, home=HOME) is not None


def test_refusal_names_what_would_be_lost() -> None:
    assert catastrophe("sudo rm -rf /etc/", home=HOME) == "it deletes /etc with all that is in it"
    assert catastrophe("rm -rf ~", home=HOME) == "it deletes the home folder /home/me with all that is in it"


def test_deeply_nested_text_ends_in_an_answer() -> None:
    line = "rm -rf /"
    for _ in range(5):
        line = f"bash -c {shlex.quote(line)}"
    assert catastrophe(line, home=HOME)
    assert catastrophe("(" * 5000 + "ls" + ")" * 5000, home=HOME) is None
    assert catastrophe("echo a b | sh; " * 3000, home=HOME) is None
