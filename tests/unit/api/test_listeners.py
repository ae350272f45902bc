import socket

import pytest

from api.listeners import bind, close
from connect.errors import ConfigError


def test_port_0_becomes_a_real_port():
    """Any free port is taken, and the URL names it."""
    (listener,) = bind("listeners", ["http://127.0.0.1:0"])
    try:
        assert listener.port > 0
        assert listener.url == f"http://127.0.0.1:{listener.port}"
        socket.create_connection(("127.0.0.1", listener.port), timeout=5).close()
    finally:
        close([listener])


def test_localhost_is_reached_by_all_its_addresses():
    """A client that asks for localhost may try IPv4 or IPv6; one port serves what there is."""
    (listener,) = bind("listeners", ["http://localhost:0"])
    try:
        assert {s.getsockname()[1] for s in listener.sockets} == {listener.port}
        socket.create_connection(("localhost", listener.port), timeout=5).close()
    finally:
        close([listener])


def test_no_host_means_every_interface():
    """The URL of a listener without host names this machine."""
    (listener,) = bind("listeners", ["http://:0"])
    try:
        assert listener.url == f"http://{socket.gethostname()}:{listener.port}"
        socket.create_connection(("127.0.0.1", listener.port), timeout=5).close()
    finally:
        close([listener])


def test_a_busy_port_is_named_with_the_setting_and_nothing_stays_bound():
    """The error says which setting, which port, and what to do; other listeners are given back."""
    with socket.create_server(("127.0.0.1", 0)) as busy, socket.socket() as probe:
        port = busy.getsockname()[1]
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
        probe.close()
        with pytest.raises(ConfigError) as caught:
            bind("listeners", [f"http://127.0.0.1:{free}", f"http://127.0.0.1:{port}"])
        assert str(caught.value) == (
            f"Invalid value http://127.0.0.1:{port} for configuration listeners: port {port} is in "
            "use by another process: stop that, or choose another port (0 for any free one)"
        )
        socket.create_server(("127.0.0.1", free)).close()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("ftp://:8083", "http or https"),
        ("http://:70000", "Port out of range"),
        ("http://192.0.2.1:0", "the host is not an address of this machine"),
    ],
)
def test_a_wrong_listener_is_refused_with_the_reason(value, reason):
    """What can't be listened on is named with the key it came from."""
    with pytest.raises(ConfigError, match=r"configuration admin\.listeners") as caught:
        bind("admin.listeners", [value])
    assert reason in str(caught.value)
