"""A teacher table in words: coverage and confidence by class, and its score where labels exist."""

from vidshift.engine.label import Labelled


def lines(found: Labelled) -> list[str]:
    """What the table amounts to, as text."""
    report, score = found.report, found.score
    weak = " (the source model as a weak teacher)" if found.card.weak else ""
    said = f', prompt "{found.card.prompt}"' if found.card.prompt else ""
    shown = [
        f"{found.asked.target}: {report.found} of {report.asked} videos labelled by {found.card.teacher}{weak}{said}",
        f"kept: {report.kept} guesses with confidence > {found.asked.gamma:g}, {report.coverage:.0%} of the videos",
        "",
    ]
    width = max(5, *(len(c.name) for c in report.classes))
    shown.append(f"{'class':<{width}}  guessed   kept  confidence")
    for c in report.classes:
        sure = "-" if c.confidence is None else f"{c.confidence:.2f}"
        shown.append(f"{c.name:<{width}}  {c.guessed:>7}  {c.kept:>5}  {sure:>10}")
    shown.append("")
    if score is not None and score.accuracy is not None:
        kept = found.kept_score
        of_kept = "" if kept is None or kept.accuracy is None else f"; of the kept ones {kept.accuracy:.1%}"
        shown.append(f"right: {score.accuracy:.1%} ({score.correct} of {score.found} videos with a label){of_kept}")
    else:
        shown.append("right: unknown, the videos have no labels")
    shown += [f"WARNING: {warning}" for warning in report.warnings()]
    shown.append(f"written: {found.out}")
    return shown
