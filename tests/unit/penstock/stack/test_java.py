import pytest

from penstock.errors import UserError
from penstock.stack.java import find_java
from tests.support.fake_java import fake_java


@pytest.mark.parametrize(("said", "major"), [("17", 17), ("21.0.2", 21), ("25-ea", 25)])
def test_java_of_the_path_is_found_with_its_version(tmp_path, said, major):
    """Any Java from 17 on is taken from the PATH, however its version is spelled."""
    java = find_java(fake_java(tmp_path, said))
    assert java.major == major
    assert java.command == str(tmp_path / "bin" / "java")


def test_java_home_comes_first(tmp_path):
    """JAVA_HOME's Java is preferred to the one on the PATH."""
    environment = fake_java(tmp_path / "path", "21")
    fake_java(tmp_path / "home", "17")
    environment["JAVA_HOME"] = str(tmp_path / "home")
    assert find_java(environment).major == 17


def test_java_on_the_path_helps_when_java_home_is_too_old(tmp_path):
    """A Java in JAVA_HOME that is too old does not hide a good one on the PATH."""
    environment = fake_java(tmp_path / "path", "21")
    fake_java(tmp_path / "home", "11.0.22")
    environment["JAVA_HOME"] = str(tmp_path / "home")
    assert find_java(environment).major == 21


def test_missing_java_is_one_sentence_with_the_way_out(tmp_path):
    """Without any Java the message says which version to install and where it is looked for."""
    with pytest.raises(UserError) as caught:
        find_java({"PATH": str(tmp_path)})
    assert str(caught.value) == (
        "Java is missing: install a Java runtime of version 17 or newer and put it on the PATH, "
        "or set JAVA_HOME to where it is."
    )


@pytest.mark.parametrize(("said", "major"), [("11.0.22", "11"), ("1.8.0_402", "8")])
def test_java_that_is_too_old_is_named(tmp_path, said, major):
    """A Java before 17 is refused by path and version."""
    with pytest.raises(UserError) as caught:
        find_java(fake_java(tmp_path, said))
    expected = f"needed, but {tmp_path}/bin/java (PATH) is version {major}. Install a newer one"
    assert expected in str(caught.value)


def test_java_that_does_not_run_is_named(tmp_path):
    """A JAVA_HOME without a Java in it is named as such."""
    with pytest.raises(UserError, match=r"/nowhere/bin/java \(JAVA_HOME\) does not run: No such"):
        find_java({"PATH": str(tmp_path), "JAVA_HOME": "/nowhere"})
