# SPDX-License-Identifier: Apache-2.0
"""tests/cli/srt-settings.py - cloche as srt: which settings files are refused

The verdicts are those of sandbox-runtime 0.0.83; tests/peers/srt.py compares many
more files with the real one.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from as_srt import *
from tap import *


@test
def an_unreadable_settings_file_is_refused(t):
    default = t.home + "/.srt-settings.json"
    named = t.away + "/s.json"

    def fails(file, *argv):
        r = srt(t, *argv, "-c", "echo ran").ended(1)
        check(r.err.startswith("Error: ") and file in r.err, r)
        equal(r.out, "")

    fails(named, "-s", named)
    for text in ("", " \n\t", "{", "{'a': 1}", "// x\n{}", '{"a": 1,}'):
        t.write(default, text)
        fails(default)
    if not IS_ROOT:
        os.chmod(default, 0)
        fails(default)
    os.unlink(default)
    os.mkdir(default)
    fails(default)
    os.rmdir(default)
    equal(srt(t, "-c", "echo ran").ok().out, "ran\n")


def refused(t, what, *keys):
    """The file is refused, and the message names one of the keys"""
    file = settings(t, what)
    r = srt(t, "-s", file, "true").ended(1)
    head = f"Error: {file} does not hold a valid config — "
    check(r.err.startswith(head), r)
    check(r.err[len(head):].split(": ")[0] in keys, keys, r)


@test
def errors_name_missing_keys_and_wrong_types(t):
    refused(t, {}, "network", "filesystem")
    refused(t, [], "(root)")
    refused(t, {"network": {}, "filesystem": {}}, "network.allowedDomains")
    for what, key in [
            (config({"allowedDomains": "x"}), "network.allowedDomains"),
            (config({"strictAllowlist": None}), "network.strictAllowlist"),
            (config(mandatoryDenySearchDepth=11), "mandatoryDenySearchDepth"),
            (config(mandatoryDenySearchDepth=0), "mandatoryDenySearchDepth"),
            (config(mandatoryDenySearchDepth=1.5), "mandatoryDenySearchDepth"),
            (config({"httpProxyPort": 65536}), "network.httpProxyPort"),
            (config({"parentProxy": {"http": "proxy"}}),
             "network.parentProxy.http"),
            (config({"deniedDomainReasons": {"a.b": ""}}),
             "network.deniedDomainReasons.a.b"),
            (config({"mitmProxy": {"socketPath": "/x", "domains": []}}),
             "network.mitmProxy.domains"),
            (config({"tlsTerminate": {"caCertPath": "/x"}}),
             "network.tlsTerminate"),
            (config({"filterRequest": 1}), "network.filterRequest"),
            (config(bwrapPath="bwrap"), "bwrapPath"),
            (config(socatPath=""), "socatPath"),
            (config(credentials={"what": 1}), "credentials"),
            (config(credentials={"files": [{"path": "x", "mode": "no"}]}),
             "credentials.files.0.mode"),
            (config(credentials={"envVars": [{"name": "1", "mode": "deny"}]}),
             "credentials.envVars.0.name"),
            (config({"deniedResolvedAddresses": ["10.0.0.0/33"]}),
             "network.deniedResolvedAddresses.0"),
    ]:
        refused(t, what, key)


@test
def entries_of_paths_are_strings_or_literal_objects(t):
    for entry in ["", 7, {"path": "x"}, {"path": "x", "literal": False},
                  {"path": "x", "literal": True, "z": 1}, "/a/*/"]:
        refused(t, config(filesystem={"denyRead": [entry]}),
                "filesystem.denyRead.0")
    for entry in ["a/*/", "/a/b/", {"path": "x", "literal": True}]:
        shell(t, "true", denyRead=[entry]).ok()
    settings_off = config(filesystem={"denyRead": ["/a/*/"], "disabled": True})
    srt(t, "-s", settings(t, settings_off), "true").ok()


@test
def host_patterns_follow_srt(t):
    good = ["example.com", "*.example.com", "a.b:443", "localhost",
            "localhost:1", "1.2.3.4", "1.2.3.4:80", "[::1]", "[2001:db8::1]:443",
            "*.a.b.c"]
    bad = ["redis", "*", "*.com", "a.*.b", "http://a.b", "a.b/c", "a.b:0",
           "a.b:65536", "a.b:080", "a.b:x", "::1", ".a.b", "a.b.", "", "*.",
           "*..a.b", "10.0.0.0/8"]
    srt(t, "-s", settings(t, config({"allowedDomains": good,
                                     "deniedDomains": good + ["*", "*:22"]})),
        "true").ok()
    for entry in bad:
        refused(t, config({"allowedDomains": [entry]}),
                "network.allowedDomains.0")
    refused(t, config({"deniedDomains": ["redis"]}), "network.deniedDomains.0")


@test
def combinations_of_keys_are_checked(t):
    mask = {"name": "T", "mode": "mask"}
    tls = {"allowedDomains": ["a.b"], "tlsTerminate": {}}
    for network, credentials, key in [
            ({}, {"envVars": [mask]}, "credentials"),
            (tls, {"envVars": [{**mask, "injectHosts": ["c.d"]}]},
             "credentials.envVars.0"),
            (tls, {"envVars": [{**mask, "injectHosts": []}]},
             "credentials.envVars.0"),
            (tls, {"files": [{"path": "d/", "mode": "mask"}]},
             "credentials.files.0"),
            (tls, {"envVars": [mask], "awsPairs": [
                {"accessKeyIdVar": "T", "secretAccessKeyVar": "T"}]},
             "credentials.awsPairs.0.secretAccessKeyVar"),
    ]:
        refused(t, config(network, credentials=credentials), key)
    srt(t, "-s", settings(t, config(tls, credentials={"envVars": [mask]})),
        "true").ok()


main()
