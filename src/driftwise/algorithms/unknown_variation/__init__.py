"""Recipes for problems whose variation is unknown."""
