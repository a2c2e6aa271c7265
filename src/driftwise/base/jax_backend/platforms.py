"""The kind of device that a program is being made for."""

from __future__ import annotations

import jax


def platform() -> str:
    """`"cpu"`, `"gpu"` or `"tpu"`: of the default device."""
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return device.platform if isinstance(device, jax.Device) else (device or jax.default_backend())


def on_gpu() -> bool:
    return platform() == "gpu"
