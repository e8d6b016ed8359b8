import pytest

from vidshift.bench.cells import Cell, check, parse_row, plan_cells, spread, sweep
from vidshift.bench.run import Asked, open_plan
from vidshift.engine.config import RunConfig
from vidshift.errors import UserError


def test_a_row_names_method_reducer_options_settings_and_match():
    cell = parse_row("joint:target_weight=0.3 lmft:policy=paired,lambda_l=1 gamma=0.6")
    assert (cell.method, dict(cell.method_options)) == ("joint", {"target_weight": 0.3})
    assert dict(cell.reducer_options) == {"policy": "paired", "loss_weight": 1}
    assert dict(cell.settings) == {"gamma": 0.6}
    assert parse_row("joint random match=joint+lmft").row == "joint + random at the FLOPs of joint + lmft"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("joint lmft:polcy=paired", "policy"),
        ("joint lmft:policy=greedy", "paired"),
        ("join lmft", "joint"),
        ("joint lmft gama=0.5", "gamma"),
        ("joint motion:threshold=2", "below 1"),
        ("joint lmft none", "more than"),
        ("", "empty"),
    ],
)
def test_a_wrong_row_is_told_what_is_accepted(row: str, says: str):
    with pytest.raises(UserError, match=says):
        check(parse_row(row))


def test_a_sweep_reaches_those_that_have_the_option_and_leaves_the_others_once():
    rows = [parse_row("joint none"), parse_row("joint lmft")]
    swept = sweep(rows, "lambda_l", [1, 10])
    assert [cell.row for cell in swept] == [
        "joint + none",
        "joint + lmft(loss_weight=1)",
        "joint + lmft(loss_weight=10)",
    ]
    assert {cell.variant for cell in sweep(rows, "bias", [0, 0.3])} == {"bias=0", "bias=0.3"}
    assert dict(sweep(rows, "gamma", [0.5])[0].settings) == {"gamma": 0.5}
    with pytest.raises(UserError, match="neither"):
        sweep(rows, "gamme", [0.5])


def test_keys_change_with_everything_that_decides_a_run_and_with_nothing_else():
    base = RunConfig()
    cell = Cell(source="studio", target="street", method="joint", reducer="lmft")
    key = cell.key(base=base, code="")
    assert key == Cell(source="studio", target="street", method="joint", reducer="lmft").key(base=base, code="")
    others = [
        Cell(source="street", target="studio", method="joint", reducer="lmft"),
        Cell(source="studio", target="street", method="joint", reducer="lmft", seed=1),
        Cell(source="studio", target="street", method="joint", reducer="lmft", settings=(("gamma", 0.5),)),
    ]
    assert key not in {other.key(base=base, code="") for other in others}
    assert key != cell.key(base=RunConfig(epochs=3), code="")


def test_a_cell_pairs_clips_and_initialisation_by_its_seed():
    config = parse_row("joint lmft").config(base=RunConfig())
    assert (config.seed, config.data_seed) == (0, 0)
    cells = spread([parse_row("joint none")], directions=["studio:street"], variants=[""], seeds=[3])
    assert (cells[0].config(base=RunConfig()).seed, cells[0].config(base=RunConfig()).data_seed) == (3, 3)


def test_the_study_that_ships_is_a_plan_with_every_declared_part():
    blocks = plan_cells(open_plan("study"))
    cells = [cell for mine in blocks.values() for cell in mine]
    assert {cell.direction for cell in cells} == {"studio->street", "street->studio"}
    assert {cell.variant for cell in cells} == {
        "bias=0.6",
        "bias=0",
        "bias=0.3",
        "bias=0.9",
        "handheld",
        "static-cue",
    }
    assert len({cell.seed for cell in blocks["main"]}) >= 8
    assert len({cell.row for cell in blocks["thresholds"]}) >= 6


def test_methods_and_reducers_combine_and_an_untrained_method_stands_once():
    cells = Asked(methods="joint,zero-shot", reducers="none lmft", seeds=1).cells()["comparison"]
    assert [cell.row for cell in cells] == ["joint + none", "joint + lmft", "zero-shot"]


@pytest.mark.parametrize(
    "asked",
    [
        Asked(rows=("joint none",), directions="studio"),
        Asked(rows=("joint none",), seeds=0),
        Asked(plan="study", rows=("joint none",)),
        Asked(plan="study", blocks=("mian",)),
        Asked(plan="nowhere.yaml"),
        Asked(rows=("joint none",), sweeps=("gamma",)),
    ],
)
def test_wrong_calls_are_user_errors(asked: Asked):
    with pytest.raises(UserError):
        asked.cells()


def test_settings_of_all_runs_are_read_as_those_of_one_run_are():
    base = Asked(settings=("sizes.val=48", "sizes.test=16", "lr=2e-3")).base()
    assert (base.sizes, base.lr) == ({"val": 48, "test": 16}, 0.002)
    for wrong in ("sizes.vall=3", "learning_rate=1", "lr", "lr=fast", "seed=3", "variant=bias=0.3", "method=joint"):
        with pytest.raises(UserError):
            Asked(settings=(wrong,)).base()
