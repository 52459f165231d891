"""The command line: what it prints, its exit codes, and that mistakes are one line each."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xarray import Dataset

import solvable as sv
from solvable.cli.main import main
from solvable.papers import registry
from solvable.papers.claims import beyond, corrected
from solvable.papers.parameters import Parameter, table

EXAMPLES = Path(__file__).parents[2] / "examples"
PROBLEM = """
[teacher]
width = 2
[student]
width = 3
[inputs]
dim = 1000
[training]
learning_rate = 0.1
[start]
seed = 0
[run]
until = 100
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return str(path)


def test_run_prints_a_summary(file, capsys) -> None:
    assert main(["run", file]) == 0
    out = capsys.readouterr().out
    assert "macro: reached the end" in out
    assert "risk" in out


def test_run_json_and_output(file, tmp_path, capsys) -> None:
    target = tmp_path / "out.nc"
    assert main(["run", file, "--until", "2", "--clock", "rate", "--seed", "3", "--output", str(target), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["success"] is True
    assert summary["end_time"] == 2
    loaded = sv.Trajectory.load(target)
    problem = sv.Problem.from_toml(PROBLEM.split("[start]")[0])
    expected = sv.run(problem, sv.start(problem, seed=3), sv.Macro(), until=2, clock="rate")
    assert loaded.risk.tolist() == expected.risk.tolist()
    assert summary["problem"] == problem.hash


def test_a_diverged_run_is_exit_code_1(file, capsys) -> None:
    text = Path(file).read_text().replace("0.1", "50.0")
    Path(file).write_text(text)
    assert main(["run", file]) == 1
    assert "diverged: lower the learning rate" in capsys.readouterr().out


def test_json_problem_files(tmp_path, capsys) -> None:
    problem = sv.Problem.from_toml(PROBLEM.split("[start]")[0])
    path = tmp_path / "problem.json"
    problem.save(path)
    assert sv.Problem.load(path) == problem
    assert main(["run", str(path), "--seed", "0", "--until", "1"]) == 0
    capsys.readouterr()


def test_theory_lists_what_applies_and_folds_the_rest(capsys) -> None:
    file = str(EXAMPLES / "quadratic.toml")
    assert main(["theory", file]) == 0
    short = capsys.readouterr().out
    assert "escape_time(problem, start): Time at which quadratic students have left the plateau.\n" in short
    assert "rate_limit(problem) = 0.9: Learning rate above which the zero-error solutions are unstable.\n" in short
    assert "erf_plateau" not in short
    assert "other closed forms do not apply to this problem; --all says why" in short
    assert main(["theory", file, "--all"]) == 0
    whole = capsys.readouterr().out
    assert "this closed form is for 'erf' units" in whole
    assert whole.count("erf_plateau") == 1
    two = "teacher.width: is 3, not 1; this closed form is for 1 teacher\nstudent.norm: is 'free'; this"
    assert two in whole
    assert main(["theory", file, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed
    assert all(one["applies"] for one in listed)
    assert all(set(one) == {"name", "call", "applies", "reason", "what", "value"} for one in listed)
    values = {one["name"]: one["value"] for one in listed}
    assert values["rate_limit"] == pytest.approx(0.9)
    assert set(values["plateau"]) == {"norm", "risk", "growth", "decay"}
    assert values["escape_time"] is None
    assert main(["theory", file, "--all", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) > len(listed)


def test_landscape(file, tmp_path, capsys) -> None:
    assert main(["landscape", str(EXAMPLES / "quadratic.toml")]) == 0
    out = capsys.readouterr().out
    assert "minimum" in out
    assert "0.916667" in out
    assert main(["landscape", str(EXAMPLES / "quadratic.toml"), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)
    assert {"outside", "inside", "chosen", "risk", "spectrum", "index", "flat", "tangent", "kind"} == points[0].keys()
    assert points[-1]["risk"] == 0
    assert main(["landscape", str(EXAMPLES / "quadratic.toml"), "--output", str(tmp_path / "atlas.png")]) == 0
    assert (tmp_path / "atlas.png").read_bytes()[:4] == b"\x89PNG"
    assert main(["landscape", str(EXAMPLES / "quadratic.toml"), "--output", "atlas.txt"]) == 2
    assert "must end in .png or .pdf or .svg" in capsys.readouterr().err
    assert main(["landscape", str(EXAMPLES / "power_law.toml")]) == 2
    assert "student.activation: is 'erf', as the teacher's; the list of critical points" in capsys.readouterr().err


def refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def test_json_has_no_numbers_that_are_none(file, capsys) -> None:
    """Meso with tanh does not know the error of its overlaps, and a run that diverges has no last risk."""
    text = Path(file).read_text()
    Path(file).write_text(text.replace("[inputs]", 'activation = "tanh"\n[inputs]'))
    assert main(["run", file, "--level", "meso", "--until", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=refuse)["overlap_error"] is None
    Path(file).write_text(text.replace("0.1", "1e200"))
    assert main(["run", file, "--json"]) == 1
    assert json.loads(capsys.readouterr().out, parse_constant=refuse)["ending"] == "diverged"


def test_micro_from_the_command_line(file, capsys) -> None:
    assert main(["run", file, "--level", "micro", "--runs", "3", "--level-seed", "5", "--until", "5", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["level"], summary["runs"], summary["nfev"]) == ("micro", 3, 15_000)
    text = Path(file).read_text() + "stop = { quantity = 'risk', below = 0.99, relative = true }\n"
    Path(file).write_text(text)
    assert main(["run", file, "--level", "meso", "--runs", "3", "--level-seed", "5", "--until", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["level"] == "meso"
    assert main(["run", file, "--level", "micro", "--runs", "2"]) == 0
    assert "2 of 2 runs: reached the threshold" in capsys.readouterr().out


def test_inputs_measured_from_data(tmp_path, capsys) -> None:
    import numpy as np

    rows = np.random.default_rng(0).standard_normal((500, 40)) * np.linspace(0.5, 2, 40)
    np.save(tmp_path / "rows.npy", rows)
    path = tmp_path / "data.toml"
    path.write_text(
        "[teacher]\nwidth=1\noverlap='sampled'\n[student]\nwidth=2\n[training]\nlearning_rate=0.05\n[start]\nseed=0\n"
        f"[level]\nname='micro'\ndata='{tmp_path / 'rows.npy'}'\norder='drawn'\nruns=2\n[run]\nuntil=3\n"
    )
    assert main(["run", str(path), "--output", str(tmp_path / "run.nc")]) == 0
    assert "2 of 2 runs: reached the end" in capsys.readouterr().out
    saved = sv.Trajectory.load(tmp_path / "run.nc")
    assert saved.problem.inputs == sv.Data(rows).inputs


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.toml")))
def test_examples_run(name, capsys) -> None:
    assert sv.Problem.load(EXAMPLES / name).student.width > 1
    assert main(["run", str(EXAMPLES / name)]) == 0
    losses = dict.fromkeys(("data_limit.toml", "finite_data.toml", "memory.toml"), "training loss")
    expected = (losses | {"momentum.toml": "half the first risk"}).get(name, "plateau at risk")
    assert expected in capsys.readouterr().out


def test_pictures_of_data_sets_have_both_losses(tmp_path, monkeypatch) -> None:
    drawn, draw = [], sv.plot.train_and_test
    monkeypatch.setattr(sv.plot, "train_and_test", lambda *given: drawn.append(draw(*given)) or drawn[-1])
    small = (EXAMPLES / "memory.toml").read_text().replace("dim = 1000", "dim = 60")
    (tmp_path / "one.toml").write_text(small)
    (tmp_path / "many.toml").write_text(small + "[vary]\ntraining.samples.ratio = [1.0, 2.0]\n")
    store, picture = str(tmp_path / "store"), str(tmp_path / "a.png")
    assert main(["run", str(tmp_path / "one.toml"), "--plot", picture]) == 0
    assert main(["sweep", str(tmp_path / "many.toml"), "--store", store, "--workers", "0"]) == 0
    show = ["--store", store, "--show", "--output", picture, "--quantity", "train_and_test"]
    assert main(["sweep", str(tmp_path / "many.toml"), *show]) == 0
    assert [ax.get_xlabel() for ax in drawn] == ["epochs", "samples ratio"]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ("", ["--until", "nan"], "run.until: nan given, must be finite"),
        ("", ["--until", "soon"], "--until: 'soon' given, must be a number"),
        ("", ["--until", "-3"], "run.until: -3.0 given, must be greater than 0"),
        ("", ["--seed", "x"], "--seed: 'x' given, must be a whole number"),
        ("", ["--seed", "-1"], "start.seed: -1 given, must be greater than or equal to 0"),
        ("", ["--clock", "hours"], "clock: 'hours' given, must be one of alpha"),
        ("", ["--clock", "worschech2024"], "student.activation: is 'quadratic'"),
        ("", ["--cross", "0.1"], "cross: given with Gaussian students"),
        ("", ["--output", "x.csv"], "--output: x.csv given, must end in .nc"),
        ("seed = 0->seed = 0\n[vary]\nx = [1]", [], "vary: is a table of a sweep; `solvable sweep` runs the file"),
        (
            "width = 2->width = 2\nK = 3",
            [],
            "teacher.K: is not a field here (did you mean width?), must be one of activation, bias, drift, overlap, readout",
        ),
        ("learning_rate->learning-rate", [], "training.learning-rate: is not a field here"),
        ("", ["--output", "nowhere/x.nc"], "--output: the directory nowhere does not exist"),
        ("width = 2->width = 0", [], "teacher.width: 0 given, must be greater than 0"),
        (
            "[start]->[begin]",
            [],
            "begin: is not a field here, must be one of teacher, student, inputs, training, mixture, tasks, start, level, run, fit",
        ),
        ("seed = 0->sed = 0", [], "start.sed: is not a field here"),
        ("until = 100->", [], "run.until: is missing; write `until = 100` in the table [run], or give --until 100"),
        ("width = 2->width = ", [], "not valid TOML"),
        ("dim = 1000->dim = 1000\nspectrum = 3", [], "inputs.spectrum: 3 given, must be"),
        ("", ["--runs", "4"], "--runs: macro has none; say --level empirical, meso or micro"),
        ("", ["--level", "micro", "--runs", "0"], "level.runs: 0 given, must be a whole number, at least 1"),
        (
            "[run]->[level]\nname = 'macro'\nruns = 3\n[run]",
            [],
            "level.runs: is not a field here, must be one of atol, max_steps",
        ),
        (
            "[run]->[level]\nname = 'nano'\n[run]",
            [],
            "level.name: 'nano' given, must be one of empirical, empirical_macro, macro, meso, micro",
        ),
        ("[run]->[level]\nrtol = 1.0\n[run]", [], "level.rtol: 1.0 given, must be between 1e-14 and 0.01"),
        ("[run]->[level]\nname = 'micro'\norder = 'drawn'\n[run]", [], "level.order: given without data"),
        ("[run]->[level]\nname = 'micro'\ndata = 'none.npy'\n[run]", [], "none.npy: No such file"),
        ("until = 100->until = 100\nstop = 0.5", [], "run.stop: 0.5 given, must be a Stop table"),
        ("until = 100->until = 100\nstop = { below = 0.5, above = 1.0 }", [], "when: give either below or above"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(file, change, options, message, capsys) -> None:
    if change:
        Path(file).write_text(Path(file).read_text().replace(*change.split("->"), 1))
    assert main(["run", file, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert all(line.startswith("solvable: ") for line in captured.err.splitlines())


def test_missing_and_unreadable_files(tmp_path, capsys) -> None:
    assert main(["run", str(tmp_path / "none.toml")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["run", str(tmp_path)]) == 2
    assert "must end in .toml or .json" in capsys.readouterr().err
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    assert main(["run", str(binary)]) == 2
    assert "not a text file" in capsys.readouterr().err


def test_too_deep_and_too_large(tmp_path, capsys) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000 + "]" * 100_000)
    assert main(["run", str(deep)]) == 2
    assert "is nested too deeply" in capsys.readouterr().err
    large = tmp_path / "large.toml"
    text = (
        PROBLEM.replace("width = 2", "width = 5000")
        .replace("width = 3", "width = 5000")
        .replace("dim = 1000", "dim = 10000000")
    )
    large.write_text(text.replace("[training]", "spectrum = {beta = 1, distinct = 1000}\n[training]"))
    assert main(["run", str(large)]) == 2
    assert "student.width: overlaps of 5000 students and 5000 teachers" in capsys.readouterr().err


def test_figures_and_claims(tmp_path, capsys, monkeypatch) -> None:
    assert main(["figures"]) == 0
    assert "bocchi2026/3" in capsys.readouterr().out
    assert main(["figure", "bocchi2026/6", "-n", "--output", str(tmp_path / "new")]) == 0
    assert "would draw bocchi2026/6" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()
    assert main(["figure", "bocchi2026/6", "--quick", "--output", str(tmp_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == json.loads((tmp_path / "bocchi2026-6.json").read_text(encoding="utf-8"))
    assert record["figure"] == "bocchi2026/6"
    assert record["parameters"] == registry.get("bocchi2026/6").parameters.as_dicts()
    keys = {
        "paper",
        "figure",
        "claim",
        "expected",
        "found",
        "tolerance",
        "verdict",
        "evidence",
        "source",
        "printed",
        "error",
    }
    assert all(set(verdict) == keys | {"distance", "printed_distance"} for verdict in record["claims"])
    monkeypatch.setattr(registry, "available", lambda paper=None: ["bocchi2026/3"])  # all of them are drawn elsewhere
    assert main(["claims", "bocchi2026", "--quick"]) == 0
    judged = capsys.readouterr().out
    assert "refuted: the print is excluded" in judged
    assert "judged: the quick form of each figure; --full judges the full size" in judged


def test_the_table_of_a_figure_is_printed(tmp_path, capsys, monkeypatch) -> None:
    """Beforehand too, by a dry run; not of each figure of many."""
    rows = table(Parameter("bases", 100, 20, 5, why="100 take an hour"))
    one = replace(registry.get("bocchi2026/6"), parameters=rows)
    monkeypatch.setattr(registry, "get", lambda key: one)
    monkeypatch.setattr(registry, "available", lambda paper=None: ["bocchi2026/6"])
    options = ["--quick", "--output", str(tmp_path)]
    for words in (["-n"], []):
        assert main(["figure", "bocchi2026/6", *options, *words]) == 0
        assert re.search(r"bases +100 +20\* +5\* +100 take an hour", capsys.readouterr().out)
    assert main(["reproduce", "bocchi2026", *options]) == 0
    assert "take an hour" not in capsys.readouterr().out
    assert main(["reproduce", "bocchi2026", *options, "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["parameters"] == rows.as_dicts()


def test_the_gallery_shows_parameters_and_verdicts(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs/site"))
    from gallery import write_gallery

    assert main(["figure", "bocchi2026/6", "--quick", "--output", str(tmp_path / "figures")]) == 0
    path = tmp_path / "figures/bocchi2026-6.json"
    facts = {"source": "(1)", "row": "B1", "printed": 1.0, "tolerance": 0.1, "evidence": "here"}
    wrong = corrected("bocchi2026/6", "a * b < |c|", expected=2.0, found=2.0, **facts)
    rows = table(Parameter("bases", 100, 20, 5, why="100 take an hour", label="$p^*$ <"))
    record = json.loads(path.read_text(encoding="utf-8")) | {"claims": [wrong.as_dict()], "parameters": rows.as_dicts()}
    path.write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "site").mkdir()
    write_gallery(tmp_path / "figures", tmp_path / "site")
    text = (tmp_path / "site/gallery/bocchi2026.md").read_text(encoding="utf-8")
    assert "| $p^*$ < | 100 | 20\\* | 5\\* | 100 take an hour |".replace(" <", " &lt;") in text
    assert "| verdict | where | printed | expected | found | tolerance | claim |" in text
    assert (
        "| corrected ([B1](../errata.md#B1)) | (1) | 1 | 2 | 2 | 0.1 | a \\* b &lt; \\|c\\| \\[found is 1 from the print"
        in text
    )
    assert f"$p^*$ &lt; = 5. The quick form, {record['seconds']:.2g} s." in text  # the caption has what was drawn
    assert "Not drawn in this build." in text
    capsys.readouterr()


def test_a_claim_that_fails_is_exit_code_1(capsys, monkeypatch) -> None:
    facts = {"expected": 1.0, "tolerance": 0.1, "evidence": "here"}
    for found, code in [(1.0, 0), (2.0, 1)]:
        verdict = beyond("bocchi2026/3", "one is one", found=found, **facts)
        one = replace(
            registry.get("bocchi2026/6"),
            compute=lambda quick: Dataset(),
            claims=lambda data, verdict=verdict: [verdict],
        )
        monkeypatch.setattr(registry, "available", lambda paper=None: ["bocchi2026/3"])
        with monkeypatch.context() as patch:
            patch.setattr(registry, "get", lambda key, one=one: one)
            assert main(["claims", "bocchi2026", "--json"]) == code
        assert json.loads(capsys.readouterr().out)[0]["verdict"] == ("fails" if code else "beyond")


def test_a_sweep_with_failed_points_is_exit_code_1(tmp_path, capsys) -> None:
    """Four dimensions are too few for Meso."""
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        PROBLEM.replace("until = 100", "until = 1") + '[level]\nname = "meso"\n[vary]\n"inputs.dim" = [4, 100]\n'
    )
    words = ["sweep", str(sweep), "--store", str(tmp_path / "store"), "--workers", "0"]
    assert main(words) == 1
    assert "1 failed" in capsys.readouterr().out
    sweep.write_text(sweep.read_text().replace("[4, 100]", "[100]"))
    assert main(words) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure", "bocchi2026/99"], "figure: 'bocchi2026/99' given, must be one of"),
        (["claims", "newton1687"], "paper: 'newton1687' given, must be one of arnaboldi2023, arnaboldi2024"),
        (["reproduce", "newton1687"], "paper: 'newton1687' given"),
    ],
)
def test_unknown_figures(arguments, message, capsys) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_output_must_be_a_directory(file, capsys) -> None:
    assert main(["figure", "bocchi2026/4", "--quick", "--output", file]) == 2
    assert "is a file, must be a directory" in capsys.readouterr().err


def test_dry_run_and_completion(file, capsys) -> None:
    assert main(["run", file, "-n"]) == 0
    assert "would run Macro(rtol=1e-08" in capsys.readouterr().out
    for shell in ("bash", "zsh"):
        assert main(["completion", shell]) == 0
        assert "reproduce" in capsys.readouterr().out


def test_help_keeps_square_brackets(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    assert "[teacher], [student], [inputs], [training]" in capsys.readouterr().out


def test_runs_that_diverge_before_their_first_output(file, capsys) -> None:
    text = Path(file).read_text().replace("0.1", "1e200").replace("until = 100", "times = [50, 100]")
    Path(file).write_text(text)
    assert main(["run", file]) == 1
    assert "diverged" in capsys.readouterr().out
    assert main(["run", file, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ending"] == "diverged"


def test_as_a_command() -> None:
    command = [sys.executable, "-m", "solvable.cli.main"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == f"solvable {sv.__version__}"
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "figure" in helped.stdout
    wrong = subprocess.run([*command, "dance"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr


def test_spectrum_of_data(tmp_path, capsys) -> None:
    values = np.array(sv.PowerLaw(beta=0.7, distinct=60).eigenvalues)
    rows = np.random.default_rng(0).standard_normal((4000, 60)) * np.sqrt(values)
    np.save(tmp_path / "rows.npy", rows)
    picture = tmp_path / "spectrum.png"
    assert main(["spectrum", str(tmp_path / "rows.npy"), "--output", str(picture)]) == 0
    text = capsys.readouterr().out
    assert "beta = 0.7" in text or "beta = 0.6" in text
    assert "plateau at risk 0.0058" in text  # 1/6 - (2/pi) asin(1/4)
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert (
        main(
            [
                "spectrum",
                str(tmp_path / "rows.npy"),
                "--json",
                "--first",
                "3",
                "--last",
                "40",
                "--width",
                "4",
                "--rate",
                "5",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert abs(found["beta"] - 0.7) < 0.15
    assert (found["first"], found["last"], found["width"], found["dim"]) == (3, 40, 4, 60)
    assert found["rate_limit"] < 2
    assert np.isclose(found["small_rate_risk"][0], 0.5, rtol=0.2)
    for options, text in [
        (["--first", "50"], "must be ranks between"),
        (["--rate", "-1"], "learning_rate: -1.0 given"),
        (["--width", "1"], "width: 1 given, must be a whole number from 2 to 100"),
        (["--output", "x.txt"], "x.txt"),
    ]:
        assert main(["spectrum", str(tmp_path / "rows.npy"), *options]) == 2
        assert text in capsys.readouterr().err
    assert main(["spectrum", str(tmp_path / "none.npy")]) == 2
    assert "No such file" in capsys.readouterr().err


CLASSES = """
[student]
width = 2
activation = "linear"
[inputs]
dim = 500
[training]
learning_rate = 0.2
[mixture]
probabilities = [0.5, 0.5]
means = [[1.0], [-1.0]]
labels = [1.0, -1.0]
[start]
seed = 0
[run]
until = 5
"""
TASKS = """
[teacher]
width = 2
activation = "erf"
[student]
width = 2
activation = "erf"
[inputs]
dim = 500
[training]
learning_rate = 0.5
train_readout = true
[[tasks]]
readout = [1.0, 0.0]
probability = { times = [0, 2], rates = [1, 0] }
[[tasks]]
readout = [0.0, 1.0]
probability = { times = [0, 2], rates = [0, 1] }
[start]
seed = 0
[run]
until = 5
"""


def test_run_tells_of_classes_and_tasks(tmp_path, capsys) -> None:
    path = tmp_path / "classes.toml"
    path.write_text(CLASSES)
    assert main(["run", str(path)]) == 0
    assert re.search(r"classification error 0\.\d+ -> 0\.2\d+, oracle 0\.1587\n", capsys.readouterr().out)
    path.write_text(TASKS)
    assert main(["run", str(path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"task 1: risk [\d.]+, forgetting -?[\d.]+\ntask 2: risk [\d.]+\n", out)
    assert main(["run", str(path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["forgetting"]) == 2


def test_mistakes_inside_tasks_are_told_with_their_place(tmp_path, capsys) -> None:
    path = tmp_path / "tasks.toml"
    path.write_text(TASKS.replace("readout = [1.0, 0.0]", "readout = [1.0]"))
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err == f"solvable: {path}: tasks.0.readout: 1 given for 2 teachers, must be as many\n"
    path.write_text(TASKS.replace("[[tasks]]", "[tasks]", 1).replace("[[tasks]]", "[other]", 1))
    assert main(["run", str(path)]) == 2
    assert "tasks: a table given, must be tables [[tasks]]" in capsys.readouterr().err
