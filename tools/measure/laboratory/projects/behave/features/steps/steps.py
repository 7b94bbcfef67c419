from behave import given

attempts = []


@given("a step that passes")
def passes(context):
    pass


@given("a step that fails")
def fails(context):
    assert 1 == 2


@given("a step that fails once")
def fails_once(context):
    attempts.append(1)
    assert len(attempts) > 1
