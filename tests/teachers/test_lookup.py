"""The teacher that only looks ids up."""

import numpy as np
import pytest
import torch

from vidshift.data.view import View
from vidshift.errors import UserError
from vidshift.teachers.base import Card
from vidshift.teachers.lookup import TableTeacher
from vidshift.teachers.table import TeacherTable


def test_known_clips_get_their_row_and_others_none():
    probs = np.array([[0.9, 0.1], [0.3, 0.7]], np.float32)
    table = TeacherTable.make(["a", "b"], ("run", "walk"), probs, card=Card(teacher="t"), gamma=0.0)
    teacher = TableTeacher(table=table)
    view = View(torch.zeros(3, 1, 3, 1, 1), ("b", "stranger", "a"))
    found = teacher.probabilities(view, ("walk", "run"))
    assert found[0].tolist() == pytest.approx([0.7, 0.3])
    assert found[1].isnan().all()
    assert found[2].tolist() == pytest.approx([0.1, 0.9])


def test_it_needs_a_table():
    with pytest.raises(UserError, match="needs a file"):
        TableTeacher()
