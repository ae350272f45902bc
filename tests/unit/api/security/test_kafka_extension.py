"""Kafka Connect's basic authentication by JAAS file."""

import pytest

from api.security.kafka_extension import users_file
from connect.errors import ConfigError

MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


def options(tmp_path, text):
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(text)
    return {"KAFKA_OPTS": f"-Xmx1g -Djava.security.auth.login.config={jaas} -Dx=y"}


def test_the_file_of_the_login_module_is_taken(tmp_path):
    """The section KafkaConnect counts, whatever else is in the file."""
    text = f"""
    KafkaClient {{ some.Other required a="b"; }};
    KafkaConnect {{
        {MODULE} required
        file="/etc/users.properties";
    }};
    """
    assert str(users_file(options(tmp_path, text))) == "/etc/users.properties"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no section KafkaConnect"),
        ("KafkaConnect { com.sun.LdapLoginModule required; };", "LdapLoginModule; only"),
        (f"KafkaConnect {{ {MODULE} required; }};", "only"),
        (f"KafkaConnect {{ {MODULE} }};", "needs one of"),
    ],
)
def test_what_is_not_known_here_is_told(tmp_path, text, reason):
    """With the file and what it would take."""
    with pytest.raises(ConfigError, match=reason):
        users_file(options(tmp_path, text))


def test_without_a_jaas_file_both_ways_are_told():
    """rest.auth.file or KAFKA_OPTS."""
    with pytest.raises(ConfigError, match=r"rest\.auth\.file.*KAFKA_OPTS"):
        users_file({})
