import pytest

attempts = {"failing": 0, "calls": 0}


def test_passes():
    pass


def test_always_fails():
    assert 1 == 2


def test_fails_then_passes():
    attempts["failing"] += 1
    assert attempts["failing"] > 1


def test_passes_then_fails():
    attempts["calls"] += 1
    assert attempts["calls"] == 1


@pytest.mark.skip
def test_is_skipped():
    pass


@pytest.fixture
def no_storage():
    raise OSError("no storage")


def test_errors_in_set_up(no_storage):
    pass


@pytest.fixture
def open_storage():
    yield
    raise OSError("storage is still open")


def test_errors_in_tear_down(open_storage):
    pass


def test_fails_and_errors_in_tear_down(open_storage):
    assert 1 == 2
