"""The version of this code, also where an install is called after an older one."""

__version__ = "0.2.0"
