"""`table`: a teacher that looks clips up in somebody's table."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from vidshift.data.view import View
from vidshift.errors import UserError
from vidshift.teachers.base import Card, teachers
from vidshift.teachers.table import TeacherTable
from vidshift.teachers.table_file import read_table


class TableTeacher:
    """Knows only the ids it was given labels for; any other clip gets a row of NaN."""

    def __init__(self, *, where: str | Path | None = None, table: TeacherTable | None = None) -> None:
        if (where is None) == (table is None):
            raise UserError("the teacher `table` needs a file, such as --teacher labels.csv.", usage=True)
        self.table = table if table is not None else read_table(Path(str(where)))
        self._rows = {name: row for row, name in enumerate(self.table.ids)}

    def fitted(self, ids: Sequence[str], classes: Sequence[str], *, origin: str) -> "TableTeacher":
        """The same teacher in the words of a run and under its ids, or an error where nothing of it fits."""
        return TableTeacher(table=self.table.for_classes(classes, origin=origin).for_ids(ids, origin=origin))

    @property
    def card(self) -> Card:
        return self.table.card

    def probabilities(self, view: View, classes: Sequence[str]) -> Tensor:
        known = torch.from_numpy(self.table.for_classes(classes).probabilities())
        probs_BK = torch.full((len(view), len(classes)), torch.nan)
        for place, name in enumerate(view.ids):
            if name in self._rows:
                probs_BK[place] = known[self._rows[name]]
        return probs_BK


teachers.register("table")(TableTeacher)
