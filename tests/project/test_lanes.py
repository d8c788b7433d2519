"""The list of tests that `make quick` leaves out is written as a measurement of all tests tells."""

from __future__ import annotations

from slow_tests import slow_tests


def test_slow_is_one_long_case_or_many_short_ones(tmp_path):
    case = '<testcase classname="{}" name="{}" time="{}"/>'
    cases = [case.format("tests.a.test_b", "test_long", 1.5), case.format("tests.a.test_b", "test_short", 0.3)]
    cases += [case.format("tests.a.test_b", f"test_many[{number}]", 0.9) for number in range(8)]
    cases.append(case.format("docs.page.md", "page.md", 9.0))
    (tmp_path / "m.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>", "utf-8")
    assert slow_tests(tmp_path / "m.xml") == ["tests/a/test_b.py::test_long", "tests/a/test_b.py::test_many"]
