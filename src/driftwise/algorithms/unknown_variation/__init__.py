"""Recipes for when nobody knows how much the world varies."""
