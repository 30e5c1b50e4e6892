"""The PEP 517 backend: setuptools, and pip as a requirement where xxhash.h must be downloaded."""

from __future__ import annotations

from typing import Any

import tamis_xxhash
from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(settings: Any = None) -> list[str]:
    """Return what setuptools and the download need to build a wheel."""
    return [*build_meta.get_requires_for_build_wheel(settings), *tamis_xxhash.requirements()]


def get_requires_for_build_editable(settings: Any = None) -> list[str]:
    """Return what setuptools and the download need for an editable installation."""
    return [*build_meta.get_requires_for_build_editable(settings), *tamis_xxhash.requirements()]


def get_requires_for_build_sdist(settings: Any = None) -> list[str]:
    """Return what setuptools and the download need to build an sdist."""
    return [*build_meta.get_requires_for_build_sdist(settings), *tamis_xxhash.requirements()]
