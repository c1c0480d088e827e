# SPDX-License-Identifier: Apache-2.0
"""cloche.h, as ctypes has it; nothing is decided here"""

import ctypes
import errno
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int,
                    c_size_t, c_uint, c_ulonglong, c_void_p, sizeof)

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")
_OWN = os.path.join(_HERE, "libcloche.so.0")

#: The program that supervises, if it came with this package; else None
PROGRAM = os.path.join(_HERE, "cloche") if os.path.exists(
    os.path.join(_HERE, "cloche")) else None

_lib = ctypes.CDLL(_OWN if os.path.exists(_OWN) else "libcloche.so.0")


class ClocheError(OSError):
    """What cloche refused to do, with its words and the system's number"""

    def __init__(self, number, words):
        super().__init__(abs(number), words)

    def __str__(self):
        return self.strerror


class SandboxOptions(Structure):
    _fields_ = [("size", c_size_t), ("program", c_char_p),
                ("policy", c_char_p)]


class Violation(Structure):
    _fields_ = [("size", c_size_t), ("kind", c_char_p),
                ("operation", c_char_p), ("target", c_char_p),
                ("program", c_char_p), ("reason", c_char_p),
                ("rule", c_char_p), ("suggestion", c_char_p),
                ("count", c_ulonglong), ("json", c_char_p)]


class QuestionStruct(Structure):
    _fields_ = [("size", c_size_t), ("id", c_uint), ("host", c_char_p),
                ("port", c_uint), ("program", c_char_p)]


class ResultStruct(Structure):
    _fields_ = [("size", c_size_t), ("error", c_int), ("status", c_int),
                ("sandboxed", c_int), ("message", c_char_p)]


STARTED = CFUNCTYPE(None, c_void_p, c_void_p)
VIOLATION = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Violation))
ASK = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(QuestionStruct))
UPDATED = CFUNCTYPE(None, c_void_p, c_void_p, c_uint, c_int, c_char_p)
TEXT = CFUNCTYPE(None, c_void_p, c_void_p, c_char_p)
ENDED = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(ResultStruct))


class Events(Structure):
    _fields_ = [("size", c_size_t), ("started", STARTED),
                ("violation", VIOLATION), ("ask", ASK), ("updated", UPDATED),
                ("message", TEXT), ("report", TEXT), ("ended", ENDED)]


class RunOptions(Structure):
    _fields_ = [("size", c_size_t), ("argv", POINTER(c_char_p)),
                ("env", POINTER(c_char_p)), ("directory", c_char_p),
                ("stdio", POINTER(c_int)), ("events", POINTER(Events)),
                ("arg", c_void_p)]


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype, function.argtypes = result, arguments
    return function


_version = _declare("cloche_version", c_char_p)
_new = _declare("cloche_sandbox_new", c_int, POINTER(SandboxOptions),
                POINTER(c_void_p), c_char_p, c_size_t)
sandbox_free = _declare("cloche_sandbox_free", None, c_void_p)
_set = _declare("cloche_sandbox_set", c_int, c_void_p, c_char_p, c_char_p)
_sandbox_message = _declare("cloche_sandbox_message", c_char_p, c_void_p)
_wrap = _declare("cloche_wrap", c_void_p, c_void_p, POINTER(c_char_p))
_start = _declare("cloche_start", c_int, c_void_p, POINTER(RunOptions),
                  POINTER(c_void_p))
run_free = _declare("cloche_run_free", None, c_void_p)
run_fd = _declare("cloche_run_fd", c_int, c_void_p)
run_turn = _declare("cloche_run_turn", c_int, c_void_p)
_signal = _declare("cloche_run_signal", c_int, c_void_p, c_int)
_answer = _declare("cloche_run_answer", c_int, c_void_p, c_uint, c_int, c_int)
_update = _declare("cloche_run_update", c_int, c_void_p, c_char_p)
_run_message = _declare("cloche_run_message", c_char_p, c_void_p)
_free = _declare("cloche_free", None, c_void_p)


def version():
    """The version of the library"""
    return _version().decode()


def text(value):
    """Bytes from C as text that goes back to the same bytes"""
    return value.decode("utf-8", "surrogateescape") if value else ""


def word(value):
    """A string, path or bytes as char *; C would stop at a NUL, and a path that
    is cut there is another one
    """
    encoded = None if value is None else os.fsencode(value)
    if encoded and b"\0" in encoded:
        raise ValueError("a string has a NUL in it")
    return encoded


def words(values):
    """A list of strings or bytes as char *[], which ends with a NULL: None is
    not one of them
    """
    encoded = [word(os.fsencode(v)) for v in values]
    return (c_char_p * (len(encoded) + 1))(*encoded, None)


def sandbox_new(program, policy, options):
    """A sandbox with its options, or ClocheError"""
    options = [(word(name), word(value)) for name, value in options]
    struct = SandboxOptions(sizeof(SandboxOptions),
                            word(program), word(policy))
    box, why = c_void_p(), ctypes.create_string_buffer(1024)
    result = _new(byref(struct), byref(box), why, len(why))
    if result < 0:
        raise ClocheError(result, text(why.value))
    for name, value in options:
        result = _set(box, name, value)
        if result < 0:
            message = text(_sandbox_message(box))
            sandbox_free(box)
            raise ClocheError(result, message)
    return box


def wrap(box, argv):
    line = _wrap(box, words(argv))
    if not line:
        raise ClocheError(errno.EINVAL, text(_sandbox_message(box)))
    try:
        return text(ctypes.string_at(line))
    finally:
        _free(line)


def start(box, options):
    run = c_void_p()
    result = _start(box, byref(options), byref(run))
    if result < 0:
        raise ClocheError(result, text(_sandbox_message(box)))
    return run


def _checked(run, result):
    if result < 0:
        raise ClocheError(result, text(_run_message(run)))
    return result


def signal(run, number):
    return _checked(run, _signal(run, number))


def answer(run, number, allow, remember):
    return _checked(run, _answer(run, number, allow is True, bool(remember)))


def update(run, policy):
    return _checked(run, _update(run, word(policy)))
