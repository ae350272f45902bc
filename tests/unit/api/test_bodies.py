import pytest

from api.bodies import (
    parse_config,
    parse_create,
    parse_level,
    parse_offsets,
    parse_shape,
    with_name,
)
from api.routes.dlq import ReplayRequest
from api.routes.dlq import TestRequest as TryRequest
from connect.cluster.herder import BadRequestError, TargetState


def refusal(parse, body):
    with pytest.raises(BadRequestError) as caught:
        parse(body if isinstance(body, bytes) else body.encode())
    return str(caught.value)


def test_create_takes_name_config_and_initial_state():
    """The three fields of a create request arrive, and the name is put into the config."""
    wanted = parse_create(b'{"name": "a", "config": {"x": "1"}, "initial_state": "PAUSED"}')

    assert wanted.name == "a"
    assert wanted.config == {"x": "1", "name": "a"}
    assert wanted.state is TargetState.PAUSED


def test_scalars_become_the_text_they_were_written_as():
    """Numbers and booleans are taken as strings, digit by digit as Kafka Connect does it."""
    config = parse_config(b'{"i": 1, "d": 1.50, "e": 1e3, "big": 12345678901234567890, "b": true}')

    assert config == {
        "i": "1",
        "d": "1.50",
        "e": "1e3",
        "big": "12345678901234567890",
        "b": "true",
    }


def test_null_is_kept_for_the_one_who_validates_or_removes():
    """A null value is neither dropped nor turned into text."""
    assert parse_config(b'{"a": null}') == {"a": None}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", "The body is empty: a JSON object is expected"),
        (
            '{"a": "1",\n "b" "2"}',
            "The body is not valid JSON at line 2, column 6: Expecting ':' delimiter",
        ),
        (b'{"a": "\xff"}', "The body is not UTF-8 at byte 7"),
        ("[]", "The body: expected an object but got an array"),
        ("null", "The body: expected an object but got null"),
        ('"x"', "The body: expected an object but got a string"),
        ("1", "The body: expected an object but got a number"),
        ('{"a": NaN}', "The body is not valid JSON: NaN is not a JSON value"),
        ("[" * 100_000, "The body is nested too deeply"),
    ],
)
def test_a_malformed_body_is_refused_with_the_place(body, expected):
    """What is wrong with a body is said with line and column, or with what was there instead."""
    assert refusal(parse_config, body) == expected


@pytest.mark.parametrize(("value", "kind"), [('{"b": 1}', "an object"), ("[1]", "an array")])
def test_a_nested_value_is_refused_by_key(value, kind):
    """Configs are flat; the key that is not is named."""
    body = f'{{"name": "a", "config": {{"topics": {value}}}}}'

    assert refusal(parse_create, body).startswith(
        f"config.topics: expected a string but got {kind}"
    )


def test_create_without_config_is_refused():
    """A request without config says what is missing."""
    assert refusal(parse_create, '{"name": "a"}').startswith('The field "config" is missing')


def test_create_with_unknown_fields_says_where_settings_go():
    """A flat config sent to the create route is the usual mistake, so the text names the way."""
    text = refusal(parse_create, '{"name": "a", "connector.class": "X"}')

    assert text.startswith('Unrecognized field "connector.class"')
    assert 'settings go into "config"' in text


def test_an_unknown_initial_state_names_those_allowed():
    """initial_state is one of three words, in any case."""
    body = '{"name": "a", "config": {}, "initial_state": "GONE"}'

    assert refusal(parse_create, body) == (
        "initial_state: GONE is not one of RUNNING, PAUSED, STOPPED"
    )
    assert parse_create(body.replace("GONE", "running").encode()).state is TargetState.STARTED


def test_names_are_trimmed_and_must_agree():
    """Blanks around a name don't count; another name in the config does."""
    assert parse_create(b'{"name": " a ", "config": {"name": "a"}}').name == "a"
    assert refusal(parse_create, '{"name": "a", "config": {"name": "b"}}') == (
        "Connector name configuration (b) doesn't match connector name in the URL (a)"
    )


def test_the_name_may_come_from_the_config():
    """A create request whose name is only in the config means that one."""
    assert parse_create(b'{"config": {"name": "a"}}').name == "a"
    assert parse_create(b'{"config": {}}').name == ""


def test_a_null_name_in_the_config_is_filled_in():
    """null is no other name."""
    assert with_name({"name": None}, "a") == {"name": "a"}


def test_offsets_keep_their_types():
    """Numbers of partitions and offsets stay numbers."""
    body = (
        b'{"offsets": [{"partition": {"p": 1, "f": 1.5}, "offset": {"o": 2}}, {"partition": null}]}'
    )

    assert parse_offsets(body) == [({"p": 1, "f": 1.5}, {"o": 2}), (None, None)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{}", "Partitions / offsets need to be provided for an alter offsets request"),
        (
            '{"offsets": []}',
            "Partitions / offsets need to be provided for an alter offsets request",
        ),
        ('{"offsets": {"a": 1}}', "offsets: expected an array but got an object"),
        ('{"offsets": [1]}', "offsets[0]: expected an object but got a number"),
        (
            '{"offsets": [{}, {"partition": true}]}',
            "offsets[1].partition: expected an object but got a boolean",
        ),
        (
            '{"offsets": [{"huh": 1}]}',
            'Unrecognized field "offsets[0].huh": expected "partition" and "offset"',
        ),
    ],
)
def test_wrong_offsets_are_refused_by_place(body, expected):
    """An offsets body that does not fit names the entry."""
    assert refusal(parse_offsets, body) == expected


def test_a_level_must_be_given():
    """The text for a missing level is Kafka Connect's."""
    assert parse_level(b'{"level": "DEBUG"}') == "DEBUG"
    assert refusal(parse_level, "{}") == ("Desired 'level' parameter was not specified in request.")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{}", "body: Object missing required field `select`"),
        ('{"select": {"colour": 1}}', "select: Object contains unknown field `colour`"),
        ('{"select": {"limit": 0}}', "select.limit: Expected `int` >= 1"),
        ('{"select": {"letters": ["0/1", 2]}}', "select.letters[1]: Expected `str`, got `int`"),
        ('{"select": {}, "edit": {"a": "", "b": 2, "c": 3}}', "edit.b: Expected `str`, got `int`"),
        ('{"select": {}, "rate": 0}', "rate: Expected `float` > 0.0"),
        ("[]", "body: Expected `object`, got `array`"),
        ('{"a" 1}', "The body is not valid JSON at line 1, column 6: Expecting ':' delimiter"),
        ("[" * 100_000, "The body is nested too deeply"),
    ],
)  # fmt: skip
def test_a_body_of_another_shape_is_refused_with_the_place(body, expected):
    """The field is named by its path."""
    assert refusal(lambda given: parse_shape(given, ReplayRequest), body) == expected


def test_no_body_is_an_empty_object():
    """A request that has nothing to say need not say it."""
    assert parse_shape(b"", TryRequest) == TryRequest()
