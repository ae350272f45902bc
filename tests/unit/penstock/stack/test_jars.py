import shlex
import tarfile
import threading

import pytest

from penstock.errors import UserError
from penstock.stack.jars import Artefact, Bundle, cache_directory, retrieve
from tests.support.fake_java import fake_java
from tests.support.waiting import wait_for

TOOL = Bundle("tool", "The Tool 1.0", (Artefact("org.example", "tool", "1.0"),))
DELIVERS = 'echo jar > "$RETRIEVE/tool-1.0.jar"'
UNREACHABLE = """
echo ':::: ERRORS'
echo '\tServer access error at url https://x/tool.pom (java.net.UnknownHostException: x)'
exit 1
"""


def runs_of(directory) -> int:
    runs = directory / "ivy-runs"
    return len(runs.read_text().splitlines()) if runs.exists() else 0


def environment_of(tmp_path, ivy):
    return fake_java(tmp_path, ivy=ivy)


def test_the_second_time_costs_no_java(tmp_path):
    """What was fetched once is taken from the cache without starting a JVM."""
    environment = environment_of(tmp_path, DELIVERS)
    first = retrieve(TOOL, print, environment)
    assert (first / "tool-1.0.jar").exists()
    environment["PATH"] = "/nowhere"
    assert retrieve(TOOL, print, environment) == first
    assert runs_of(tmp_path) == 1


def test_progress_names_what_arrives(tmp_path):
    """The user reads what is downloaded, where to, and each file as it comes."""
    line = "\\t[SUCCESSFUL ] org.example#tool;1.0!tool.jar(bundle) (99ms)"
    environment = environment_of(tmp_path, f"printf '{line}\\n'; {DELIVERS}")
    said: list[str] = []
    target = retrieve(TOOL, said.append, environment)
    assert said == [f"Downloading The Tool 1.0, once, to {target}", "  tool.jar"]


def test_no_network_is_one_sentence_with_the_way_out(tmp_path):
    """When the repository can't be reached the message says why and what one can set."""
    with pytest.raises(UserError) as caught:
        retrieve(TOOL, print, environment_of(tmp_path, UNREACHABLE))
    message = str(caught.value)
    assert message.startswith(
        "The Tool 1.0 could not be downloaded (UnknownHostException: x): check the network; "
    )
    assert "HTTPS_PROXY" in message
    assert "KAFKA_BOOTSTRAP" in message
    assert "\n" not in message


def test_any_other_failure_shows_the_end_of_the_log(tmp_path):
    """A failure that is not the network's shows what Ivy said."""
    with pytest.raises(UserError, match="disk full"):
        retrieve(TOOL, print, environment_of(tmp_path, "echo disk full; exit 1"))


def test_ivy_that_succeeds_without_the_file_is_not_believed(tmp_path):
    """A download is complete when the file is there, whatever Ivy's exit code says."""
    with pytest.raises(UserError, match="could not be downloaded"):
        retrieve(TOOL, print, environment_of(tmp_path, "exit 0"))


def test_a_failed_download_is_tried_again(tmp_path):
    """What an interrupted or failed download left behind never passes for a finished one."""
    half = 'if [ -e "$HOME/again" ]; then exec true; fi; touch "$HOME/again"; kill -9 $$'
    environment = environment_of(tmp_path, f"{DELIVERS}; {half}")
    with pytest.raises(UserError):
        retrieve(TOOL, print, environment)
    assert (retrieve(TOOL, print, environment) / "tool-1.0.jar").exists()
    assert runs_of(tmp_path) == 2


def test_two_at_once_download_once(tmp_path):
    """A second process waits for the first one's download and says so."""
    environment = environment_of(
        tmp_path, f'touch "$HOME/begun"; while [ ! -e "$HOME/go" ]; do sleep 0.05; done; {DELIVERS}'
    )
    said: list[str] = []
    first = threading.Thread(target=retrieve, args=(TOOL, print, environment))
    second = threading.Thread(target=retrieve, args=(TOOL, said.append, environment))
    first.start()
    wait_for((tmp_path / "begun").exists, "the first download to begin")
    second.start()
    wait_for(lambda: said, "the second to say that it waits")
    (tmp_path / "go").touch()
    first.join(30)
    second.join(30)
    assert said == ["Another process is downloading; waiting for it."]
    assert runs_of(tmp_path) == 1


def test_archives_are_unpacked_and_not_kept(tmp_path):
    """A tar.gz artefact arrives as its contents; the archive takes no space afterwards."""
    (tmp_path / "runner.jar").touch()
    archive = tmp_path / "made.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "runner.jar", "runner.jar")
    artefact = Artefact("org.example", "app", "1", type="tar.gz", classifier="all")
    copy = f'cp {shlex.quote(str(archive))} "$RETRIEVE/app-1-all.tar.gz"'
    target = retrieve(Bundle("app", "App", (artefact,)), print, environment_of(tmp_path, copy))
    assert (target / "runner.jar").exists()
    assert not list((tmp_path / "cache").rglob("*.tar.gz"))


def test_another_version_has_another_directory():
    """A bundle that names other artefacts never finds the files of the old one."""
    newer = Bundle("tool", "The Tool 2.0", (Artefact("org.example", "tool", "2.0"),))
    assert newer.directory_name != TOOL.directory_name


def test_the_cache_is_where_the_user_wants_it(tmp_path, monkeypatch):
    """PENSTOCK_CACHE, then XDG_CACHE_HOME, then ~/.cache."""
    monkeypatch.setenv("HOME", "/home/me")
    xdg = {"XDG_CACHE_HOME": "/xdg"}
    assert str(cache_directory({**xdg, "PENSTOCK_CACHE": "/mine"})) == "/mine"
    assert str(cache_directory(xdg)) == "/xdg/penstock"
    assert str(cache_directory({})) == "/home/me/.cache/penstock"


def test_a_cache_that_cannot_be_made_is_named(tmp_path):
    """A cache below a file is refused with the variable that moves it."""
    (tmp_path / "file").touch()
    environment = {"PENSTOCK_CACHE": str(tmp_path / "file" / "cache")}
    with pytest.raises(UserError, match=r"file/cache cannot be created .* set PENSTOCK_CACHE"):
        retrieve(TOOL, print, environment)


def test_proxy_variables_reach_java(tmp_path):
    """Java is told of the proxy that the environment names, and of the hosts it is not for."""
    environment = environment_of(tmp_path, f'echo "$SEEN" > "$HOME/seen"; {DELIVERS}')
    java = tmp_path / "bin" / "java"
    java.write_text(java.read_text().replace("#!/bin/sh\n", '#!/bin/sh\nSEEN="$*"\n'))
    environment |= {"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "localhost,.inner"}
    retrieve(TOOL, print, environment)
    seen = (tmp_path / "seen").read_text()
    assert "-Dhttps.proxyHost=proxy.example -Dhttps.proxyPort=3128" in seen
    assert "-Dhttp.nonProxyHosts=localhost|*.inner" in seen
