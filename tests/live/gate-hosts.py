# SPDX-License-Identifier: Apache-2.0
"""tests/live/gate-hosts.py - the host that a request or a TLS hello names"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from gate import *


@test
def an_https_url_in_a_plain_request_gets_an_explanation(t):
    """As old versions of axios want it"""
    g = Gate(t)
    out = g.python('''
for host in (b"good.test", b"bad.test"):
    print(say(b"GET https://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" %
              (host, host)).split(b"\\r\\n")[0].decode())
''')
    good, bad = out.splitlines()
    contains(good, "400 the proxy speaks no TLS")
    contains(bad, "403 host is not on the allow list")
    told = {e["target"]: e["suggest"]["edit"] for e in g.events()}
    contains(told["good.test:443"], "--env NO_PROXY=*")
    equal(told["bad.test:443"], None)


@test
def a_request_to_an_address_may_name_an_allowed_host_only(t):
    g = Gate(t, ["http:80", "https:443"],
             allow=["93.184.216.34", "good.test", "below.good.test:443"])
    curl = [need("curl"), "-sS", "-k", "-m", "10"]
    for name in ("good.test", "93.184.216.34"):
        for scheme in ("http", "https"):
            r = g.run(*curl, "--connect-to", "::93.184.216.34:",
                      f"{scheme}://{name}/", env=BARE).ok()
            equal(r.out, f"path / host {name} body 0")
    r = g.run(*curl, "-i", "--connect-to", "::93.184.216.34:",
              "http://bad.test/", env=BARE).ok()
    contains(r.out, "403 host is not on the allow list")
    contains(g.refused(), ("net-http", "bad.test:80"))
    r = g.run(*curl, "--connect-to", "::93.184.216.34:", "https://bad.test/",
              env=BARE)
    contains(r.err.lower(), "access denied")
    told = g.events()[-1]
    equal((told["kind"], told["target"], told["reason"],
           told["suggest"]["command"]),
          ("net-sni", "93.184.216.34:443",
           "the TLS hello names another host: bad.test",
           "cloche policy allow host bad.test"))
    r = g.run(*curl, "-i", "--connect-to", "::93.184.216.34:",
              "http://below.good.test/", env=BARE).ok()
    contains(r.out, "403 host is not on the allow list")


@test
def a_connection_to_a_name_may_not_name_another_host(t):
    g = Gate(t, ["http:80", "https:443"])
    curl = [need("curl"), "-sS", "-k", "-m", "10"]
    told = []
    socks = ["-x", "socks5h://127.0.0.1:1080"]
    for env, how in ((BARE, []), (PROXIED, []), (PROXIED, ["-p"]),
                     (BARE, socks)):
        r = g.run(*curl, *how, "http://good.test/", "http://good.test/x",
                  env=env).ok()
        equal(r.out, "path / host good.test body 0path /x host good.test body 0")
        r = g.run(*curl, *how, "-i", "-H", "Host: bad.test",
                  "http://good.test/", env=env).ok()
        contains(r.out, "400 the Host header names another host")
        told.append(g.events()[-1])
        g.run(*curl, *how, "--connect-to", "::good.test:", "https://bad.test/",
              env=env)
        told.append(g.events()[-1])
    for e in told:
        contains(e["reason"], "names another host: bad.test")
        equal(e["suggest"], {"edit": "let the program connect to the host "
                                     "that it names", "command": None})
    equal([(e["kind"], e["target"]) for e in told],
          [("net-http", "good.test:80"), ("net-sni", "good.test:443")] * 4)
    lacks("".join(g.connections()), "93.184.216.36")


main()
