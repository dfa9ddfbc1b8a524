"""Every exercise: each mistake loses points, each right solution gets all, each check finds one."""

from __future__ import annotations

import re

import nbformat
import pytest
from support import ROOT

from shardwise_grading.__main__ import main
from shardwise_grading.mutants import Known, kill_table, read_known
from shardwise_grading.runner import load, run
from shardwise_grading.world import SECONDS

FOLDER = ROOT / "tests" / "exercises" / "known"
PARTS = [known for path in sorted(FOLDER.glob("*.py")) for known in read_known(path)]
HIDDEN = sorted(path.stem for path in (ROOT / "exercises" / "hidden").glob("*.py"))
SEEDS = ["23", "0"]
MORE_SEEDS = [pytest.param(str(seed), marks=pytest.mark.long) for seed in range(1, 12)]
CELL_SECONDS = 30  # nbgrader's limit


def every(kind):
    """Each known solution of a kind, as a parameter with a readable name."""
    return [
        pytest.param(known, name, id=f"{known.part}-{name}")
        for known in PARTS
        for name in getattr(known, kind)
    ]


@pytest.fixture(params=PARTS, ids=lambda known: known.part)
def known(request):
    return request.param


@pytest.fixture(autouse=True)
def checks(hidden_folder):
    return hidden_folder


@pytest.fixture(scope="module")
def judged():
    """What the checks say of every mutant, asked for once: some of them loop."""
    return {}


def check(known, solution, seed="23"):
    return run(load(known.exercise), known.part, solution, points=known.points, seed=seed)


def reports(known, judged):
    def impatient(exercise):
        module = load(exercise)
        module.SECONDS = 0.5  # of computing: enough on any machine
        return module

    if known.part not in judged:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("shardwise_grading.mutants.load", impatient)
            judged[known.part] = known.reports(known.wrong)
    return judged[known.part]


def test_every_exercise_has_known_solutions():
    assert {known.exercise for known in PARTS} == set(HIDDEN)
    for exercise in HIDDEN:
        parts = [known for known in PARTS if known.exercise == exercise]
        assert {known.part for known in parts} == load(exercise).CHECKS.keys()
        assert sum(known.points for known in parts) == 10
        assert max(len(known.wrong) for known in parts) >= 12
        assert max(len(known.right) for known in parts) >= 4


@pytest.mark.parametrize(("known", "mutant"), every("wrong"))
def test_every_misconception_loses_points_and_is_told_why(known, mutant, judged):
    report = reports(known, judged)[mutant]
    assert report.score < known.points
    for result in report.results:
        assert result.passed is not bool(result.message)
        assert "a fault of the check" not in result.message
        assert "\n" not in result.message


@pytest.mark.parametrize("seed", [*SEEDS, *MORE_SEEDS])
@pytest.mark.parametrize(("known", "solution"), every("right"))
def test_every_right_solution_gets_everything(known, solution, seed):
    report = check(known, known.right[solution], seed)
    assert report.score == known.points, str(report)


def test_a_check_finds_something_and_a_mutant_is_found(known, judged, monkeypatch):
    wrong = reports(known, judged)
    real = Known.reports
    monkeypatch.setattr(
        Known, "reports", lambda self, asked: wrong if asked is self.wrong else real(self, asked)
    )
    table, amiss = kill_table(known)
    assert amiss == []
    assert table.row_count == len(known.wrong) + 1


def test_points_are_whole_and_add_up_to_the_cell(known):
    results = check(known, next(iter(known.right.values()))).results
    assert all(type(result.points) is int and result.points > 0 for result in results)
    assert sum(result.points for result in results) == known.points


def test_loops_without_an_end_leave_the_cell_its_time(known):
    seconds = getattr(load(known.exercise), "SECONDS", SECONDS)
    assert len(check(known, None).results) * seconds < CELL_SECONDS - 5


def test_what_is_not_done_earns_nothing(known):
    assert check(known, None).score == 0
    assert check(known, lambda *_: None).score == 0


def test_the_same_seed_gives_the_same_report(known):
    for mutant in list(known.wrong.values())[:3]:
        assert str(check(known, mutant, "a")) == str(check(known, mutant, "a"))


def test_the_solution_of_the_notebook_is_right(known):
    """The reference solution, run as it stands; it is one more right solution."""
    for path in (ROOT / "exercises" / "source" / "distributed-training").glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells)
        call = re.search(rf'grade\("{known.exercise}", "{known.part}", (\w+),', text)
        if call:
            names = {}
            for cell in cells:
                if cell.metadata.get("nbgrader", {}).get("solution"):
                    exec(cell.source, names)
            assert check(known, names[call[1]]).score == known.points
            return
    pytest.fail(f"no notebook asks for {known.part}")


class TestCommand:
    def test_prints_a_table_for_each_part(self, capsys, monkeypatch):
        monkeypatch.chdir(ROOT)
        monkeypatch.setenv("COLUMNS", "120")
        assert main(["mutants", "stage_2_memory"]) == 0
        printed = capsys.readouterr().out
        assert "stage_2_memory: stage2_bytes" in printed
        assert "stage_2_memory: partition_table" in printed
        row = next(line for line in printed.splitlines() if "refuses a single device" in line)
        assert row.count("x") == 1
        assert "ValueError for a negative psi and for n below 1 (1)" in printed

    def test_says_what_is_missing(self, capsys, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        assert main(["mutants", "stage_2_memory"]) == 2
        assert "run this from the repository" in capsys.readouterr().err

    def test_fails_when_a_mutant_survives(self, capsys, monkeypatch, tmp_path):
        monkeypatch.chdir(ROOT)
        source = (FOLDER / "stage_2_memory.py").read_text(encoding="utf-8")
        source += '\nTABLE_MUTANTS["none at all"] = TABLE\n'
        (tmp_path / "stage_2_memory.py").write_text(source, encoding="utf-8")
        assert main(["mutants", "stage_2_memory", "--known", str(tmp_path)]) == 1
        assert "none at all: loses nothing" in capsys.readouterr().err
