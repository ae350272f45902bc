"""Definitions: parsing, validation, and how plugins' keys are put below a prefix."""

import pytest

from connect import REQUIRED, ConfigDef, ConfigError, ConfigType, Importance, Secret
from connect.config.configdef import parse_value, show_value
from connect.config.validators import at_least, list_of_values, one_of

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("STRING", "  x y ", "x y"),
        ("INT", " 5 ", 5),
        ("INT", "-2147483648", -(2**31)),
        ("LONG", "+9223372036854775807", 2**63 - 1),
        ("DOUBLE", "1e3", 1000.0),
        ("BOOLEAN", " TRUE ", True),
        ("BOOLEAN", "False", False),
        ("LIST", " a , b,c ", ["a", "b", "c"]),
        ("LIST", "", []),
        ("LIST", "a,,b", ["a", "", "b"]),
        ("CLASS", " a.B ", "a.B"),
    ],
)
def test_text_becomes_typed(type_, text, value):
    """Surrounding blanks do not count, and each type reads what Kafka reads."""
    assert parse_value("k", text, ConfigType(type_)) == value


@pytest.mark.parametrize(
    ("type_", "text", "reason"),
    [
        ("INT", "abc", "Not a number of type INT"),
        ("INT", "2147483648", "Not a number of type INT"),
        ("INT", "1_000", "Not a number of type INT"),
        ("INT", "1.0", "Not a number of type INT"),
        ("SHORT", "32768", "Not a number of type SHORT"),
        ("LONG", "", "Not a number of type LONG"),
        ("DOUBLE", "x", "Not a number of type DOUBLE"),
        ("BOOLEAN", "yes", "Expected value to be either true or false"),
    ],
)
def test_wrong_text_is_named(type_, text, reason):
    """A value of the wrong type is refused with key, value and reason, in Kafka's words."""
    with pytest.raises(ConfigError) as caught:
        parse_value("k", text, ConfigType(type_))
    assert str(caught.value) == f"Invalid value {text} for configuration k: {reason}"


def test_parse_gives_defaults_and_keeps_the_rest():
    """Declared keys are typed, with their defaults; others stay as they were given."""
    definition = ConfigDef().define("a", doc="").define("n", ConfigType.INT, 3, doc="")
    config = definition.parse({"a": "x", "other": "y"})
    assert dict(config) == {"a": "x", "n": 3, "other": "y"}
    assert config.raw == {"a": "x", "other": "y"}


def test_missing_key_is_named():
    """A required key that is not given is named as in Kafka."""
    with pytest.raises(
        ConfigError, match=r'Missing required configuration "a" which has no default value\.'
    ):
        ConfigDef().define("a", doc="").parse({})


def test_config_does_not_print_its_values():
    """Neither a config nor a secret shows its text, however it is printed."""
    config = ConfigDef().define("p", ConfigType.PASSWORD, doc="").parse({"p": "hunter2"})
    assert config["p"].reveal() == "hunter2"
    for shown in (repr(config), str(config["p"]), f"{config['p']:>9}", repr([config["p"]])):
        assert "hunter2" not in shown
    assert show_value(Secret("hunter2"), ConfigType.PASSWORD) == "[hidden]"


def test_validate_reports_everything_at_once():
    """All wrong keys are reported; a value that can't be read is also seen by its validator."""
    definition = (
        ConfigDef()
        .define("n", ConfigType.INT, 1, doc="", validator=at_least(1))
        .define("m", doc="", validator=one_of("a", "b"))
        .define("fine", default="x", doc="")
    )
    values = definition.validate({"n": "abc", "m": "c"})
    assert values["n"].errors == [
        "Invalid value abc for configuration n: Not a number of type INT",
        "Invalid value null for configuration n: Value must be non-null",
    ]
    assert values["m"].errors == [
        "Invalid value c for configuration m: String must be one of: a, b"
    ]
    assert (values["fine"].value, values["fine"].errors) == ("x", [])


def test_unset_value_is_not_checked():
    """A default of None means unset, which no validator needs to allow for."""
    definition = ConfigDef().define("n", ConfigType.INT, None, doc="", validator=at_least(1))
    assert definition.validate({})["n"].errors == []
    assert definition.parse({})["n"] is None


def test_validator_that_trips_over_a_missing_value_adds_nothing():
    """An author's validator need not think of None; its crash on a real value is an error."""
    definition = ConfigDef().define("a", doc="", validator=lambda _, value: value.nonsense())
    (error,) = definition.validate({})["a"].errors
    assert error.startswith("Missing required")
    (error,) = definition.validate({"a": "x"})["a"].errors
    assert "AttributeError" in error


def test_recommendations_see_the_other_values():
    """A recommender gets all values, under a prefix only those of its plugin."""
    plugin = (
        ConfigDef()
        .define("kind", default="x", doc="")
        .define("sub", default=None, doc="", recommender=lambda _, values: [values["kind"]])
    )
    embedded = ConfigDef().embedding(plugin, "p.", "P", 0)
    assert embedded.validate({"p.kind": "y"})["p.sub"].recommended == ["y"]


def test_embedded_keys_are_sorted_by_importance():
    """Under a prefix, required keys come first, then the important ones, then by name."""
    plugin = (
        ConfigDef()
        .define("low", default="", importance=LOW, doc="")
        .define("b", default="", importance=MEDIUM, doc="", dependents=["a"])
        .define("a", default="", importance=MEDIUM, doc="")
        .define("must", doc="")
    )
    embedded = ConfigDef().embedding(plugin, "t.x.", "T: x", 2)
    assert list(embedded.keys) == ["t.x.must", "t.x.a", "t.x.b", "t.x.low"]
    assert [key.order_in_group for key in embedded.keys.values()] == [2, 3, 4, 5]
    assert embedded.keys["t.x.b"].dependents == ("t.x.a",)
    assert embedded.groups == ["T: x"]


def test_embedded_validators_know_the_plugin_s_own_name():
    """A plugin's validator names its key as its author did; a type error names it in full."""
    plugin = ConfigDef().define("n", ConfigType.INT, 1, doc="", validator=at_least(1))
    embedded = ConfigDef().embedding(plugin, "t.", "T", 0)
    assert embedded.validate({"t.n": "0"})["t.n"].errors == [
        "Invalid value 0 for configuration n: Value must be at least 1"
    ]
    assert embedded.validate({"t.n": "x"})["t.n"].errors[0] == (
        "Invalid value x for configuration t.n: Not a number of type INT"
    )


def test_key_is_declared_once():
    """Declaring a key twice is a mistake of the author."""
    with pytest.raises(ConfigError, match="Configuration a is defined twice"):
        ConfigDef().define("a", doc="").define("a", doc="")


def test_default_must_be_valid():
    """A default that its own validator refuses is found when the plugin is written."""
    with pytest.raises(ConfigError, match="Value must be at least 1"):
        ConfigDef().define("n", ConfigType.INT, 0, doc="", validator=at_least(1))


def test_order_in_group_counts_up_unless_told():
    """Keys of a group are numbered as they are declared; keys without a group are not."""
    definition = (
        ConfigDef()
        .define("a", default="", doc="", group="G")
        .define("b", default="", doc="", group="G")
        .define("c", default="", doc="", group="G", order=9)
        .define("d", default="", doc="")
    )
    assert [key.order_in_group for key in definition.keys.values()] == [1, 2, 9, -1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "Configuration 'k' values must not be null."),
        ([], "Configuration 'k' must not be empty. Valid values include: any non-empty value"),
        (["a", "a"], "Configuration 'k' values must not be duplicated."),
        (["a", ""], "Configuration 'k' values must not be empty."),
    ],
)
def test_lists_have_their_own_texts(value, text):
    """What is wrong with a list is said in the words that Kafka has for lists."""
    with pytest.raises(ConfigError) as caught:
        list_of_values(empty=False)("k", value)
    assert str(caught.value) == text


def test_values_in_messages_look_as_in_java():
    """Lists, booleans and nothing at all are written in messages as Kafka writes them."""
    assert "value [a, true, null] for" in str(ConfigError("k", ["a", True, None], "r"))


def test_required_prints_its_meaning():
    """The mark of a key without default says what it is."""
    assert repr(REQUIRED) == "REQUIRED"
