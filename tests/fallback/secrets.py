# SPDX-License-Identifier: Apache-2.0
"""tests/fallback/secrets.py - bound secrets where they cannot be put into requests

That takes the full tier and --net filtered. Elsewhere the value stays outside all the
same, whatever its variable is called and wherever its file is.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

REFUSE = os.environ.get("REFUSE", "")
# Neither the name nor the value looks like a secret
NAME, VALUE = "ACME_SETTING", "plain-words-of-a-value-77"
ENV = {NAME: VALUE, "ACME_OTHER": VALUE + "-other"}
NEEDS = "needs the full tier and --net filtered"
STAYS = "note: bound secrets stay outside"
WITHOUT = (("--tier", "landlock"), ("--net", "none"), ("--net", "host"),
           ("--tier", "landlock", "--net", "none"))
LOOK = f"env; cat token 2>&1; cat ~/token 2>&1; cat /proc/[0-9]*/environ 2>/dev/null; true"


def env():
    return {**os.environ, **ENV}


def bound(t):
    """In the user's own settings, from a variable, another variable and files"""
    t.write("token", VALUE)
    t.write(t.home + "/token", VALUE)
    t.write(t.home + "/.config/cloche/policy.json", json.dumps({"secrets": {
        NAME: {"hosts": ["api.example.org"]},
        "SECOND": {"hosts": ["api.example.org"], "from": "env:ACME_OTHER"},
        "THIRD": {"hosts": ["api.example.org"], "from": f"file:{t.dir}/token"},
        "FOURTH": {"hosts": ["api.example.org"], "from": "file:~/token"}}}))


@test
def the_secret_option_is_refused_in_the_landlock_tier(t):
    for options in WITHOUT:
        r = t.inside("touch", "ran", options=(*options, "--secret", f"{NAME}@api.example.org"),
                     env=env())
        equal(r.ended(125).err, f"cloche: --secret {NEEDS}\n", options)
        check(not t.exists("ran"), options)
    r = t.run("explain", "--tier", "landlock", "--secret", f"{NAME}@api.example.org", "--",
              "true", env=env())
    contains(r.ended(2).err, NEEDS)


@test
def the_secret_option_is_refused_without_user_namespaces(t):
    r = t.outside(REFUSE, "userns", CLOCHE, "run", "--secret", f"{NAME}@api.example.org",
                  "--", "touch", "ran", env=ENV)
    contains(r.ended(125).err, NEEDS)
    check(not t.exists("ran"))
    t.outside(REFUSE, "userns", CLOCHE, "run", "--", "touch", "ran", env=ENV).ok()
    check(t.exists("ran"))


@test
def values_bound_by_settings_are_withheld_and_reported(t):
    # The control: unbound, all of it is there
    t.write("token", VALUE)
    t.write(t.home + "/token", VALUE)
    for options in WITHOUT:
        r = t.shell(LOOK, options=options, env=env()).ok()
        check(r.out.count(VALUE) >= 4, options, r.out)
        lacks(r.err, STAYS)
    bound(t)
    for options in WITHOUT:
        r = t.shell(LOOK, options=options, env=env()).ok()
        lacks(r.out + r.err, VALUE)
        equal(r.err.count(STAYS), 1, options, r.err)
        r = t.run("explain", *options, "--", "true", env=env()).ok()
        contains(r.out, STAYS)
        lacks(r.out, VALUE)


@test
def env_does_not_pass_a_bound_variable(t):
    bound(t)
    for options in WITHOUT:
        r = t.shell(LOOK, options=(*options, "--env", NAME, "--env", "ACME_OTHER"), env=env()).ok()
        lacks(r.out, VALUE)
        contains(r.err, f"note: '{NAME}' is not passed: it is a bound secret")


main()
