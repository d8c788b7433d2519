"""A file that is replaced keeps its mode, its owner and its link; it is whole on the disk before it has its name.

For any mode and mask, one file or several, and everything that is not a plain file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws_support import examples
from tool_data import make_model

from vrspam._utils.atomic import replacing, replacing_all, write_text
from vrspam.tool import save_model

posix = pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
quiet = settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))


@posix
@quiet
@given(mode=st.integers(0, 0o777).map(lambda bits: bits | 0o200), mask=st.integers(0, 0o777), again=st.booleans())
def test_the_mode_is_kept_and_a_new_file_has_that_of_the_mask(tmp_path_factory, mode, mask, again):
    path = tmp_path_factory.mktemp("modes") / "m.json"
    before = os.umask(mask)
    try:
        if again:
            path.write_text("old")
            path.chmod(mode)
        with replacing(path) as temporary:
            meanwhile = stat.S_IMODE(temporary.stat().st_mode)
            os.chmod(temporary, meanwhile | 0o200)
            temporary.write_text("new")
            os.chmod(temporary, meanwhile)
        assert os.umask(mask) == mask  # of all threads: nobody may have touched it
    finally:
        os.umask(before)
    expected = mode if again else 0o666 & ~mask
    assert stat.S_IMODE(path.stat().st_mode) == expected
    if again:
        assert meanwhile & ~mode & 0o077 == 0  # nobody could read it who may not read the old one
    path.chmod(0o600)
    assert path.read_text() == "new"


@posix
def test_a_private_model_stays_private(tmp_path):
    save_model(make_model(), tmp_path / "m.json")
    (tmp_path / "m.json").chmod(0o600)
    save_model(make_model(), tmp_path / "m.json")
    assert stat.S_IMODE((tmp_path / "m.json").stat().st_mode) == 0o600


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser may give files away")
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@posix
@quiet
@given(mode=st.integers(0, 0o777).map(lambda bits: bits | 0o200))
def test_a_group_that_cannot_be_kept_gets_nothing(tmp_path_factory, mode):
    path = tmp_path_factory.mktemp("groups") / "m.json"
    path.write_text("old")
    path.chmod(mode)
    old = os.stat

    def foreign(name, *more, **named):  # as the file of another owner
        found = old(name, *more, **named)
        if Path(name) != path:
            return found
        return os.stat_result((*found[:4], found.st_uid + 1, found.st_gid + 1, *found[6:]))

    def refuse(*_):
        raise PermissionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "stat", foreign)
        patch.setattr(os, "chown", refuse)
        write_text(path, "new")
    kept = stat.S_IMODE(path.stat().st_mode)
    assert kept & 0o707 == mode & 0o707
    assert (kept >> 3) & 0o7 == (mode >> 3) & mode & 0o7  # what everybody may do


@posix
def test_a_link_stays_and_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_text(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, words in (("pipe", "device or a pipe"), ("folder", "is a directory")):
        with pytest.raises(OSError, match=words):
            write_text(tmp_path / name, "new")
        assert not stat.S_ISREG((tmp_path / name).stat().st_mode)
    assert {path.name for path in tmp_path.iterdir()} == {"real.json", "link.json", "pipe", "folder"}


@posix
def test_a_protected_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda name, mode: False)  # the superuser may write to all
    with pytest.raises(PermissionError, match="may not be written to"):
        write_text(path, "new")
    assert path.read_text() == "old"


@posix
def test_a_file_is_on_the_disk_before_it_has_its_name_and_the_folder_after(tmp_path, monkeypatch):
    calls = []

    def sync(handle):
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        calls.append("folder" if is_folder else "file")

    def rename(source, target, own=os.replace):
        calls.append("name")
        own(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", rename)
    write_text(tmp_path / "a", "new")
    assert calls == ["file", "name", "folder"]
    calls.clear()
    with replacing_all([tmp_path / "a", tmp_path / "b"]):
        pass
    assert calls == ["file", "file", "name", "name", "folder"]


@quiet
@given(
    names=st.lists(st.text("abä\udcff心", min_size=1, max_size=70), min_size=1, max_size=4, unique=True), data=st.data()
)
def test_all_files_are_replaced_or_none(tmp_path_factory, names, data):
    """Whichever rename fails, the files before it are put back."""
    folder = tmp_path_factory.mktemp("all")
    paths = [folder / name for name in names]
    old = {path: data.draw(st.sampled_from([None, b"old"])) for path in paths}
    for path, content in old.items():
        if content is not None:
            path.write_bytes(content)
    fails_at, calls = data.draw(st.integers(0, len(names))), []

    def rename(source, target, own=os.replace):
        calls.append(target)
        if len(calls) - 1 == fails_at:
            raise OSError(28, "No space left on device")
        own(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", rename)
        if fails_at < len(names):
            with pytest.raises(OSError, match="No space left") as raised:
                write_all(paths)
            assert raised.value.filename == str(paths[fails_at])
            expected = {path for path, content in old.items() if content is not None}
            assert all(path.read_bytes() == b"old" for path in expected)
        else:
            write_all(paths)
            expected = set(paths)
            assert all(path.read_bytes() == b"new" for path in expected)
    assert set(folder.iterdir()) == expected


def write_all(paths):
    with replacing_all(paths) as temporaries:
        for temporary in temporaries:
            temporary.write_bytes(b"new")
