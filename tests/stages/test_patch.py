"""Which files a patch touches, in each form that agents write."""

from typing import Any

import pytest

from agentv_stages.model.patch import Patch, changes_of, read_patch

CODEX = """*** Begin Patch
*** Add File: new.py
+print()
*** Update File: src/a b.py
*** Move to: src/c.py
@@
-x
+y
*** Delete File: old.py
*** End Patch
"""
UNIFIED = """--- a/one.py\t2026-01-01
+++ b/one.py\t2026-01-02
@@ -1 +1 @@
-a
+b
--- /dev/null
+++ b/two.py
@@ -0,0 +1 @@
+new
--- a/three.py
+++ /dev/null
"""


def test_codex_patches_name_their_files_in_order_with_where_they_move_to() -> None:
    assert read_patch(CODEX) == Patch(("new.py", "src/a b.py", "src/c.py", "old.py"), False)


def test_unified_diffs_name_what_is_left_of_each_file() -> None:
    assert read_patch(UNIFIED) == Patch(("one.py", "two.py", "three.py"), False)


@pytest.mark.parametrize(
    ("text", "adds_only"),
    [
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Add File: b\n+x\n*** End Patch", False),
        ("*** Add File: a\n+x\n*** Add File: b\n+y\n", True),
        ("*** Add File: a\n*** Update File: b\n", False),
        ("--- /dev/null\n+++ b/a\n--- /dev/null\n+++ b/b\n", True),
        ("--- /dev/null\n+++ b/a\n--- a/b\n+++ b/b\n", False),
        ("no patch at all", False),
        ("", False),
    ],
)
def test_a_patch_only_adds_if_every_file_is_new(text: str, adds_only: bool) -> None:
    assert read_patch(text).adds_only is adds_only


def test_text_of_a_patched_file_that_looks_like_a_header_names_no_file() -> None:
    codex = """*** Begin Patch
*** Update File: docs/patches.md
@@
 *** Delete File: shown.py
-*** Update File: shown.py
+*** Add File: shown.py
+*** Move to: shown.py
*** End Patch"""
    assert read_patch(codex) == Patch(("docs/patches.md",), False)
    assert read_patch(codex.replace("\n", "\r\n")) == Patch(("docs/patches.md",), False)
    assert read_patch(codex.replace("*** End Patch", "")) == Patch(("docs/patches.md",), False)
    indented = "\n".join("    " + line for line in codex.splitlines())
    assert read_patch(indented) == Patch(("docs/patches.md",), False)
    assert read_patch("*** Begin Patch\n  *** Add File: a\n+x\n*** End Patch") == Patch(("a",), True)
    unified = "--- a/query.sql\n+++ b/query.sql\n@@ -1,3 +1,3 @@\n x\n--- a comment\n-y\n+z\n+++ i;\n"
    assert read_patch(unified) == Patch(("query.sql",), False)


def test_indented_and_crlf_headers_are_headers() -> None:
    assert read_patch("  *** Update File: a.py  \r\n*** Add File: b.py\r\n").files == ("a.py", "b.py")


def test_a_file_is_named_once_and_a_flood_of_files_is_cut() -> None:
    assert read_patch("*** Update File: a\n*** Update File: a\n").files == ("a",)
    assert len(read_patch("".join(f"*** Add File: f{i}\n" for i in range(5_000))).files) == 1_000


@pytest.mark.parametrize(
    ("value", "patch"),
    [
        ([{"path": "a", "kind": "add"}, {"path": "b", "kind": "update"}], Patch(("a", "b"), False)),
        ([{"path": "a", "kind": {"type": "add"}}], Patch(("a",), True)),
        ({"a": {"type": "add"}, "b": {"add": {"content": ""}}}, Patch(("a", "b"), True)),
        ({"a": {"update": {}}}, Patch(("a",), False)),
        ({"a": "created"}, Patch(("a",), True)),
        ([{"kind": "add"}, 5, {"path": 7}], Patch((), False)),
        ("a", Patch((), False)),
        (None, Patch((), False)),
    ],
)
def test_change_lists_are_read_in_each_of_their_shapes(value: Any, patch: Patch) -> None:
    assert changes_of(value) == patch
