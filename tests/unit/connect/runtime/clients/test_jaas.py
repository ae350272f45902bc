"""JAAS lines as people write them."""

import pytest

from connect.runtime.clients.jaas import parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (f'{PLAIN} required username="a" password="b";', {"username": "a", "password": "b"}),
        (f"{PLAIN} REQUIRED username='a' password='b';", {"username": "a", "password": "b"}),
        (f"{PLAIN} required username=a password=b ;", {"username": "a", "password": "b"}),
        (f'{PLAIN} required\n  username="a"\n  password="b";\n',
         {"username": "a", "password": "b"}),
        (f'{PLAIN} required username="a" password="x=1; \\"y\\" \\\\ z";',
         {"username": "a", "password": 'x=1; "y" \\ z'}),
        (f'{PLAIN} required username = "a" password="";', {"username": "a", "password": ""}),
        (f'{PLAIN} required /* who */ username="a" // and\n password="b";',
         {"username": "a", "password": "b"}),
        (f'{PLAIN} required username="a"', {"username": "a"}),
        (f"{PLAIN} required;", {}),
        (f'{PLAIN} required username=";" password="=";', {"username": ";", "password": "="}),
    ],
)  # fmt: skip
def test_options_are_read(line, options):
    """Quotes of both kinds or none, escapes, comments, blanks and line breaks."""
    module = parse_jaas(line)
    assert module.name == PLAIN
    assert {**module.options} == options


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "no login module"),
        (f'{PLAIN} username="a";', "needs one of optional, required"),
        (f'{PLAIN} required username "s3cret";', "not name=value"),
        (f'{PLAIN} required password="s3cret;', "not closed"),
        (f'{PLAIN} required a="s3cret"; {PLAIN} required b="c";', "more than one"),
    ],
)
def test_bad_line_is_told_without_secrets(line, told):
    """The reason is in the message, nothing of the line is."""
    with pytest.raises(ValueError, match=told) as raised:
        parse_jaas(line)
    assert "s3cret" not in str(raised.value)
