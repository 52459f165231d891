"""Files of machine code: read only where nobody but the user and root can have written them.

Machine code runs with all rights of the user, and a checksum beside it protects from damage, not from other people: whoever may
write a file, or a directory on the way to it, decides what runs. So every level of a path is looked at, and what others own or
may write is left alone. Directories and files that are made here are for their owner only.

A file is MARK, the SHA-256 digest of its name and content, and the content: under another name it is damaged.
"""

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MARK = b"solvable machine code\n"
HEAD = len(MARK) + hashlib.sha256().digest_size  # bytes before the content
PART = ".part"  # the end of the name of a file that is being written
WEEK = 7 * 86400.0
MOST_LINKS = 40  # on one path, as Linux allows
_NOTICE = {"wanted": True}  # whether this process still prints why a file is not used


class Untrusted(OSError):
    """Raised where others may have written a file, with the reason."""


def check(path: Path) -> None:
    """Raise Untrusted if others than the user and root own or may write any level of an absolute path.

    Levels that are missing are nobody's. Links on the way are followed and checked as what they lead to. A directory that all
    may write passes if it is root's and sticky and the next level is the user's: nobody else can rename or remove that.
    """
    if not path.is_absolute():
        raise Untrusted(
            f"{path.parts[0] if path.parts else path}/..., from SOLVABLE_CACHE_DIR, is not an absolute path"
        )
    if not hasattr(os, "geteuid"):  # a system without owners and modes
        return
    shared: set[str] = set()
    with contextlib.suppress(FileNotFoundError):
        for parent, level, status in _levels(path):
            if parent in shared and status.st_uid != os.geteuid():
                raise Untrusted(f"{level} belongs to another user")
            if _is_sticky(status):
                shared.add(level)
            else:
                _check_level(level, status)


def _levels(path: Path) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield each directory, link and file that leads to a path, with the directory that it is in and its status."""
    place, rest, links = path.anchor, list(path.parts[:0:-1]), 0
    yield "", place, os.lstat(place)
    while rest:
        name = rest.pop()
        if name == os.pardir:
            place = os.path.dirname(place)
            continue
        level = os.path.join(place, name)
        status = os.lstat(level)
        yield place, level, status
        if not stat.S_ISLNK(status.st_mode):
            place = level
            continue
        links += 1
        if links > MOST_LINKS:
            raise Untrusted(f"{path} leads through too many links")
        target = Path(os.readlink(level))
        place = target.anchor or place
        rest += target.parts[len(target.anchor) > 0 :][::-1]


def _is_sticky(status: os.stat_result) -> bool:
    """Tell whether this is a directory like /tmp: root's, for all to write, where nobody removes what another user owns."""
    return stat.S_ISDIR(status.st_mode) and status.st_uid == 0 and bool(status.st_mode & stat.S_ISVTX)


def _check_level(level: str, status: os.stat_result) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise Untrusted(f"{level} belongs to another user")
    by_group, by_all = status.st_mode & stat.S_IWGRP, status.st_mode & stat.S_IWOTH
    if stat.S_ISLNK(status.st_mode):  # whose mode means nothing
        return
    if by_all or (by_group and not _is_private(status.st_gid, status.st_uid)):
        raise Untrusted(f"others may write {level}, which chmod go-w ends")


def _is_private(group: int, user: int) -> bool:
    """Tell whether a group is the one that many systems make for each user, with the user's name and nobody else in it."""
    import grp
    import pwd

    try:
        entry, name = grp.getgrgid(group), pwd.getpwuid(user).pw_name
    except KeyError:
        return False
    return entry.gr_name == name and set(entry.gr_mem) <= {name}


def announce(whether: bool) -> None:
    """Choose whether this process prints why machine code is not used. Others of a pool may have done so."""
    _NOTICE["wanted"] = whether


def refuse(reason: Untrusted) -> None:
    """Print why machine code is not used, once in a process."""
    if _NOTICE["wanted"]:
        announce(False)
        way = "SOLVABLE_CACHE_DIR names another place"
        print(f"solvable: machine code on disk is not used: {reason} ({way})", file=sys.stderr, flush=True)


def is_there(path: Path) -> bool:
    """Tell whether there is a file at a path, and nobody else can have written it."""
    try:
        check(path)
        return stat.S_ISREG(os.lstat(path).st_mode)
    except Untrusted as error:
        refuse(error)
    except OSError:
        pass
    return False


def read(path: Path) -> bytes | None:
    """Return the content of a file of the user or root; None where it is missing, untrusted or damaged."""
    try:
        check(path)
        with open(path, "rb", opener=_opener) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            if hasattr(os, "geteuid"):
                _check_level(str(path), status)
            if time.time() - status.st_mtime > WEEK:
                with contextlib.suppress(OSError):  # it is root's
                    os.utime(file.fileno() if os.utime in os.supports_fd else path)  # it is still in use
            return content_of(path.name, file.read())
    except Untrusted as error:
        refuse(error)
    except OSError:
        pass
    return None


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def content_of(name: str, data: bytes) -> bytes | None:
    """Return the content of a file of this name; None where it is damaged or was written under another name."""
    whole = data.startswith(MARK) and data[len(MARK) : HEAD] == _digest(name, data[HEAD:])
    return data[HEAD:] if whole else None


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def make_directory(path: Path) -> None:
    """Make a directory with all above it, where missing, for the user only; raise Untrusted where others could exchange it."""
    check(path)
    for level in (*reversed(path.parents), path):
        if not level.is_dir():
            level.mkdir(mode=0o700, exist_ok=True)
    check(path)


def write(path: Path, content: bytes) -> None:
    """Write a file for the user only, with its directory; under its name it is always whole."""
    make_directory(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=PART)  # readable by the user only
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MARK + _digest(path.name, content) + content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def remove_unused(directory: Path, prefix: str, suffixes: tuple[str, ...], seconds: float) -> None:
    """Remove files with our MARK that were not used for so long, from the directories in `directory` that are called prefix...,
    and then those that are empty. Links are not followed, and what others may have written stays."""
    oldest = time.time() - seconds
    for place in _entries(directory):
        if place.name.startswith(prefix) and place.is_dir(follow_symlinks=False):
            for entry in _entries(Path(place.path)):
                with contextlib.suppress(OSError):
                    if entry.name.endswith((*suffixes, PART)) and _is_old(entry, oldest) and _is_ours(entry.path):
                        os.unlink(entry.path)
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(place.path)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    """Return what is in a directory that nobody else may write."""
    try:
        check(directory)
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _is_old(entry: os.DirEntry[str], oldest: float) -> bool:
    return entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < oldest


def _is_ours(path: str) -> bool:
    with open(path, "rb", opener=_opener) as file:
        return file.read(len(MARK)) == MARK
