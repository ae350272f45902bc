"""Roles by patterns, and the table of what routes need."""

import pytest

from api.routes import connectors, dlq, internal, loggers, offsets, plugins, root
from api.security import roles
from api.security.roles import Caller, Need, Role, need
from connect.cluster.herder import ForbiddenError

ROUTERS = (root, connectors, internal, offsets, plugins, dlq, loggers)
ROUTES = [(each.method, each.path) for module in ROUTERS for each in module.routes.operations]

TEAM = Caller("team", "-", {Role.READ: ("*",), Role.OPERATE: ("orders-*", "pay[12]")})


def test_a_role_includes_those_before_it():
    """Who may operate may read; who may read may not operate."""
    assert TEAM.may(Role.READ, "anything")
    assert TEAM.may(Role.OPERATE, "orders-eu")
    assert TEAM.may(Role.OPERATE, "pay1")
    assert not TEAM.may(Role.OPERATE, "pay3")
    assert not TEAM.may(Role.OPERATE, "Orders-eu")
    assert not TEAM.may(Role.ADMIN, "orders-eu")
    assert Caller("x", "-", {Role.ADMIN: ("a",)}).may(Role.READ, "a")


def test_the_worker_as_a_whole_takes_a_role_for_all():
    """A pattern that happens to match everything there is now is not enough."""
    assert TEAM.may(Role.READ, None)
    assert not TEAM.may(Role.OPERATE, None)
    assert not Caller("x", "-", {Role.ADMIN: ("?*", "**")}).may(Role.ADMIN, None)


def test_without_users_everything_is_allowed():
    """Nobody is asked for a name."""
    assert Caller().may(Role.ADMIN, None)
    assert Caller().may_somewhere(Role.ADMIN)
    assert not Caller("x", "-", {}).may_somewhere(Role.READ)


def test_a_refusal_names_user_role_and_connector():
    """So that whoever reads it knows what to ask for."""
    with pytest.raises(ForbiddenError, match="User team needs the role admin for orders-eu"):
        TEAM.require(Role.ADMIN, "orders-eu")
    with pytest.raises(ForbiddenError, match="User team needs the role admin for all connectors"):
        TEAM.require(Role.ADMIN, None)


def test_every_entry_of_the_table_is_a_route():
    """A route that is renamed does not fall out of the table unseen."""
    assert set(roles._NEEDS) <= set(ROUTES)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_what_changes_something_takes_a_role(method, path):
    """Only lists, plugins and what is checked by a route itself are open to every user."""
    needed = need(method, path)
    if method == "GET":
        assert needed in (Role.READ, Need.NOTHING)
    else:
        own_check = path == "/connectors" or path.endswith(("/tasks", "/fence"))
        assert needed is not Need.NOTHING or own_check
        assert needed is not Role.READ
