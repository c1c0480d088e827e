# SPDX-License-Identifier: Apache-2.0
"""tests/cli/srt-settings.py - cloche as srt: what is said of a settings file

The words are those of sandbox-runtime 0.0.83; tests/peers/srt.py compares many
more files with the real one.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from as_srt import *
from tap import *

REFUSING = "Refusing to run with the built-in defaults, which would drop "
RULES = ("this file's rules (its denyRead, allowRead and credential entries "
         "included).\n")
HOST = ('Invalid domain pattern. Must be a valid domain (e.g., "example.com"), '
        'a wildcard (e.g., "*.example.com"), or a bracketed IPv6 literal (e.g., '
        '"[::1]", "[2001:db8::1]:443"). Overly broad patterns like "*.com" or '
        '"*" are not allowed for security reasons.')


@test
def a_file_that_does_not_load_refuses(t):
    default = t.home + "/.srt-settings.json"
    named = t.away + "/s.json"
    equal(srt(t, "-s", named, "true").ended(1).err,
          f"Error: {named} does not exist.\n" + REFUSING +
          "the rules --settings asked for.\n")
    for text in ("", " \n\t"):
        t.write(default, text)
        equal(srt(t, "true").ended(1).err, f"Error: {default} is empty. Delete "
              "it, or put a config in it.\n" + REFUSING + RULES)
    for text in ("{", "{'a': 1}", "// x\n{}", '{"a": 1,}'):
        t.write(default, text)
        r = srt(t, "true").ended(1)
        check(r.err.startswith(f"Error: {default} is not valid JSON: "), r)
        check(r.err.endswith("\n" + REFUSING + RULES), r)
    if not IS_ROOT:
        os.chmod(default, 0)
        equal(srt(t, "true").ended(1).err, f"Error: {default} could not be read "
              "(EACCES).\n" + REFUSING + RULES)
    os.unlink(default)
    os.mkdir(default)
    equal(srt(t, "true").ended(1).err, f"Error: {default} could not be read "
          "(EISDIR).\n" + REFUSING + RULES)


def issues(t, what):
    file = settings(t, what)
    r = srt(t, "-s", file, "true").ended(1)
    head = f"Error: {file} does not hold a valid config — "
    check(r.err.startswith(head) and r.err.endswith("\n" + REFUSING + RULES), r)
    return r.err[len(head):].split("\n")[0]


@test
def what_is_missing_or_of_the_wrong_type_is_named(t):
    equal(issues(t, {}), "network: Required; filesystem: Required")
    equal(issues(t, []), "(root): Expected object, received array")
    equal(issues(t, {"network": {}, "filesystem": {}}),
          "network.allowedDomains: Required; network.deniedDomains: Required; "
          "filesystem.denyRead: Required; filesystem.allowWrite: Required; "
          "filesystem.denyWrite: Required")
    for what, words in [
            (config({"allowedDomains": "x"}),
             "network.allowedDomains: Expected array, received string"),
            (config({"strictAllowlist": None}),
             "network.strictAllowlist: Expected boolean, received null"),
            (config(mandatoryDenySearchDepth=11), "mandatoryDenySearchDepth: "
             "Number must be less than or equal to 10"),
            (config(mandatoryDenySearchDepth=0), "mandatoryDenySearchDepth: "
             "Number must be greater than or equal to 1"),
            (config(mandatoryDenySearchDepth=1.5), "mandatoryDenySearchDepth: "
             "Expected integer, received float"),
            (config({"httpProxyPort": 65536}), "network.httpProxyPort: Number "
             "must be less than or equal to 65535"),
            (config({"parentProxy": {"http": "proxy"}}),
             "network.parentProxy.http: Invalid url"),
            (config({"deniedDomainReasons": {"a.b": ""}}),
             "network.deniedDomainReasons.a.b: String must contain at least 1 "
             "character(s)"),
            (config({"mitmProxy": {"socketPath": "/x", "domains": []}}),
             "network.mitmProxy.domains: Array must contain at least 1 "
             "element(s)"),
            (config({"tlsTerminate": {"caCertPath": "/x"}}),
             "network.tlsTerminate: caCertPath and caKeyPath must be provided "
             "together"),
            (config({"filterRequest": 1}),
             "network.filterRequest: filterRequest must be a function"),
            (config(bwrapPath="bwrap"), "bwrapPath: Binary path must be "
             "absolute"),
            (config(socatPath=""), "socatPath: Path cannot be empty; "
             "socatPath: Binary path must be absolute"),
            (config(credentials={"what": 1}), "credentials: Unrecognized "
             "key(s) in object: 'what'"),
            (config(credentials={"files": [{"path": "x", "mode": "no"}]}),
             "credentials.files.0.mode: Invalid enum value. Expected 'deny' | "
             "'mask', received 'no'"),
            (config(credentials={"envVars": [{"name": "1", "mode": "deny"}]}),
             "credentials.envVars.0.name: Environment variable name must start "
             "with a letter or underscore and contain only letters, digits, "
             "and underscores"),
            (config({"deniedResolvedAddresses": ["10.0.0.0/33"]}),
             "network.deniedResolvedAddresses.0: Invalid IP address or CIDR "
             'range. Use an IPv4/IPv6 literal or CIDR, e.g. "10.0.0.0/8", '
             '"192.168.1.10", "fc00::/7" (IPv6 unbracketed).'),
    ]:
        equal(issues(t, what), words)


@test
def entries_of_paths_are_strings_or_literal_objects(t):
    words = 'Expected a path, or { "path": "<path>", "literal": true }'
    for entry, want in [
            ("", "filesystem.denyRead.0: Path cannot be empty"),
            (7, "filesystem.denyRead.0: " + words),
            ({"path": "x"}, "filesystem.denyRead.0: " + words),
            ({"path": "x", "literal": False}, "filesystem.denyRead.0: " + words),
            ({"path": "x", "literal": True, "z": 1}, "filesystem.denyRead.0: "
             "Unrecognized key(s) in object: 'z'"),
            ("/a/*/", 'filesystem.denyRead.0: Deny glob "/a/*/" ends in a '
             "separator, so as a pattern it can match no path. Write "
             '"/a/*", which is also read as the path of that name where it '
             'exists, or add a "**" segment to match at any depth.')]:
        equal(issues(t, config(filesystem={"denyRead": [entry]})), want)
    for entry in ["a/*/", "/a/b/"]:
        shell(t, "true", denyRead=[entry]).ok()
    settings_off = config(filesystem={"denyRead": ["/a/*/"], "disabled": True})
    srt(t, "-s", settings(t, settings_off), "true").ok()


@test
def patterns_of_hosts_are_those_of_srt(t):
    good = ["example.com", "*.example.com", "a.b:443", "localhost",
            "localhost:1", "1.2.3.4", "1.2.3.4:80", "[::1]", "[2001:db8::1]:443",
            "*.a.b.c"]
    bad = ["redis", "*", "*.com", "a.*.b", "http://a.b", "a.b/c", "a.b:0",
           "a.b:65536", "a.b:080", "a.b:x", "::1", ".a.b", "a.b.", "", "*.",
           "*..a.b", "10.0.0.0/8"]
    srt(t, "-s", settings(t, config({"allowedDomains": good,
                                     "deniedDomains": good + ["*", "*:22"]})),
        "true").ok()
    more = (" An optional \":port\" suffix (1-65535) restricts the entry to "
            "that port.")
    for entry in bad:
        equal(issues(t, config({"allowedDomains": [entry]})),
              "network.allowedDomains.0: " + HOST + more, entry)
    equal(issues(t, config({"deniedDomains": ["redis"]})),
          "network.deniedDomains.0: " + HOST + ' In deniedDomains a bare "*" '
          '(deny-all) is also accepted, and an optional ":port" suffix '
          "(1-65535) restricts the entry to that port.")


@test
def keys_that_concern_each_other_are_checked(t):
    mask = {"name": "T", "mode": "mask"}
    tls = {"allowedDomains": ["a.b"], "tlsTerminate": {}}
    for network, credentials, words in [
            ({}, {"envVars": [mask]}, "credentials: Credential masking requires "
             "network.tlsTerminate so substitution runs only over a verified TLS"
             " connection. Enable tlsTerminate, or set "
             "credentials.allowPlaintextInject to opt out (not recommended)."),
            (tls, {"envVars": [{**mask, "injectHosts": ["c.d"]}]},
             "credentials.envVars.0.injectHosts.0: injectHosts entry \"c.d\" is "
             "not reachable via network.allowedDomains — add \"c.d\" (or a "
             "covering wildcard) to allowedDomains, or remove it from "
             "injectHosts."),
            (tls, {"envVars": [{**mask, "injectHosts": []}]},
             "credentials.envVars.0: injectHosts is explicitly empty — the "
             "credential would be masked but never injected. Omit injectHosts "
             "to default to network.allowedDomains, or list the intended "
             "hosts."),
            (tls, {"files": [{"path": "d/", "mode": "mask"}]},
             'credentials.files.0.path: Credential mode "mask" applies to a '
             'single file, not a directory. Use mode "deny" for "d/", or point '
             "at the credential file inside it."),
            (tls, {"envVars": [mask], "awsPairs": [
                {"accessKeyIdVar": "T", "secretAccessKeyVar": "T"}]},
             'credentials.awsPairs.0.secretAccessKeyVar: "T" appears in more '
             "than one awsPairs slot (within or across pairs) — each variable "
             "can fill exactly one slot."),
    ]:
        equal(issues(t, config(network, credentials=credentials)), words)


main()
