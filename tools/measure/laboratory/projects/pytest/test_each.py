import os

import pytest


def test_passes():
    pass


def test_always_fails():
    assert 1 == 2


def test_passes_on_one_worker():
    assert os.environ["PYTEST_XDIST_WORKER"] == "gw0"


@pytest.mark.skip
def test_is_skipped():
    pass
