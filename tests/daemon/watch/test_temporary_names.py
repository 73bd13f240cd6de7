"""How editors and tools call the files that they write beside the one that they save."""

from __future__ import annotations

import pytest

from quire_daemon.watch.temporary_names import is_temporary

TEMPORARY = (
    "a.txt~ .a.txt.swp .a.txt.swo .a.txt.swx .swp a.swp 4913 5036 .#a.txt #a.txt# sedgIuYWP sed8PtExp XXPL2okw "
    "a.py.tmp a.py.tmp.4711.1a2b3c4d5e6f a.cc-1a2b3c4d.tmp a.temp .tmpAb3dEf tmpk2_x8abz .goutputstream-AB12CD "
    ".a.txt.kate-swp a.java___jb_tmp___ a.java___jb_old___ a.txt.Xk3dPq .a.txt.Xk3dPq a.go.1234567 "
    "package.json.3917268353 a.txt.sb-1a2b3c4d-AbCdEf .~lock.a.odt# ~$a.docx d2utmpAb3dEf .a.txt.un~ .nfs000000000001"
)
ORDINARY = (
    "a.txt a~b .swap swp a.swift sedan.py sedimental sed XXL.svg 491 49130 tmp tmp.py temp.txt template.tmpl a.tmpl "
    "tmpfs.conf build.gradle App.svelte a.README Makefile.config log.20250301 v1.234567 #readme a.sw "
    ".gitignore note#1.md a.lock.txt yarn.lock a.txt.orig a.txt.rej a.txt.bak a.new index.HTMLXX"
)


@pytest.mark.parametrize("name", TEMPORARY.split())
def test_a_file_with_a_temporary_name_is_usually_gone_soon(name: str) -> None:
    assert is_temporary(name)
    assert is_temporary(f"src/deep/{name}")


@pytest.mark.parametrize("name", ORDINARY.split())
def test_other_names_are_not_temporary(name: str) -> None:
    assert not is_temporary(name)
    assert not is_temporary(f"src~/{name}")
