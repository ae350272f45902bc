"""Plugins: which there are, under which names, in which versions, and how to load them."""

from connect.plugins.info import CONNECTOR_TYPES, PluginInfo, PluginType, describe
from connect.plugins.registry import Plugins

__all__ = ["CONNECTOR_TYPES", "PluginInfo", "PluginType", "Plugins", "describe"]
