# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel and the source archive with nothing but Python itself

A wheel holds the library and the program if they lie in cloche/native (see
tools/pack-python); without them it uses what the system has installed.
"""

import base64
import gzip
import hashlib
import io
import os
import sysconfig
import tarfile
import time
import zipfile

NAME = "cloche"
SOURCES = ("pyproject.toml", "backend.py", "README.md")


def _version():
    with open("pyproject.toml") as file:
        for line in file:
            if line.startswith("version = "):
                return line.split('"')[1]
    raise RuntimeError("pyproject.toml names no version")


def _epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH", 315532800))


def _files():
    """Every file of the package, sorted: (path, bytes, executable)"""
    for base, dirs, names in os.walk(NAME):
        dirs[:] = sorted(d for d in dirs if d != "__pycache__")
        for name in sorted(names):
            path = os.path.join(base, name)
            with open(path, "rb") as file:
                yield path, file.read(), os.access(path, os.X_OK)


def _tag():
    if not os.path.isdir(os.path.join(NAME, "native")):
        return "py3-none-any"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


def _metadata():
    with open("README.md") as file:
        readme = file.read()
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {_version()}\n"
            "Summary: Run commands in a sandbox that the Linux kernel enforces\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def build_wheel(wheel_directory, config_settings=None,
                metadata_directory=None):
    info = f"{NAME}-{_version()}.dist-info"
    files = list(_files())
    files.append((f"{info}/METADATA", _metadata().encode(), False))
    files.append((f"{info}/WHEEL", (
        "Wheel-Version: 1.0\nGenerator: cloche\n"
        f"Root-Is-Purelib: {str(_tag().endswith('any')).lower()}\n"
        f"Tag: {_tag()}\n").encode(), False))
    record = ""
    for path, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        record += f"{path},sha256={digest.rstrip(b'=').decode()},{len(data)}\n"
    record += f"{info}/RECORD,,\n"
    files.append((f"{info}/RECORD", record.encode(), False))
    name = f"{NAME}-{_version()}-{_tag()}.whl"
    when = time.gmtime(max(_epoch(), 315532800))[:6]
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w",
                         zipfile.ZIP_DEFLATED) as archive:
        for path, data, executable in files:
            entry = zipfile.ZipInfo(path, when)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    root = f"{NAME}-{_version()}"
    name = f"{root}.tar.gz"
    files = [(path, data, x) for path, data, x in _files()
             if "/native/" not in path]
    for path in SOURCES:
        with open(path, "rb") as file:
            files.append((path, file.read(), False))
    files.append(("PKG-INFO", _metadata().encode(), False))
    with gzip.GzipFile(os.path.join(sdist_directory, name), "wb",
                       mtime=_epoch()) as packed, \
            tarfile.open(fileobj=packed, mode="w",
                         format=tarfile.PAX_FORMAT) as archive:
        for path, data, executable in files:
            entry = tarfile.TarInfo(f"{root}/{path}")
            entry.size, entry.mtime = len(data), _epoch()
            entry.mode = 0o755 if executable else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return name
