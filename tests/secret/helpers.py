# SPDX-License-Identifier: Apache-2.0
"""tests/secret/helpers.py - the credential helpers of git and docker"""

import json

from common import *

HTTPS = "protocol=https\nhost=example.com\n"


def git(t, action, text, **more):
    return secret(t, "git-credential", action, stdin=text, **more)


def store(t, text):
    return git(t, "store", text).ok()


@test
def git_s_credentials_are_stored_found_and_erased(t):
    equal(git(t, "get", HTTPS).ok().out, "")
    store(t, HTTPS + "username=me\npassword=s3cret\n\nignored")
    equal(git(t, "get", HTTPS + "\n").ok().out,
          "username=me\npassword=s3cret\n")
    equal(git(t, "get", HTTPS + "username=you\n").ok().out, "")
    equal(git(t, "get", HTTPS.replace("https", "http")).ok().out, "")
    equal(git(t, "get", HTTPS.replace("example", "xample")).ok().out, "")
    equal(names(t), ["git:https://me@example.com"])
    git(t, "erase", HTTPS).ok()
    equal(git(t, "get", HTTPS).ok().out, "")


@test
def credentials_of_users_and_paths_are_separate(t):
    store(t, HTTPS + "username=me\npassword=one\n")
    store(t, HTTPS + "username=you\npassword=two\n")
    store(t, HTTPS + "path=a/b.git\nusername=me\npassword=three\n")
    contains(git(t, "get", HTTPS + "username=me\npath=a/b.git\n").out, "three")
    contains(git(t, "get", HTTPS + "username=you\n").out, "two")
    store(t, HTTPS + "username=you\npassword=four\n")
    contains(git(t, "get", HTTPS + "username=you\n").out, "four")
    equal(len(names(t)), 3)


@test
def crafted_fields_do_not_collide(t):
    store(t, HTTPS + "username=a@example.com/x\npassword=one\n")
    store(t, HTTPS + "username=a\npath=x\npassword=two\n")
    store(t, "protocol=https\nhost=b@example.com\nusername=a\npassword=three\n")
    store(t, HTTPS + "username=..\npassword=four\n")
    equal(len(names(t)), 4)


@test
def only_the_rejected_password_is_erased(t):
    store(t, HTTPS + "username=me\npassword=new\n")
    git(t, "erase", HTTPS + "username=me\npassword=old\n").ok()
    contains(git(t, "get", HTTPS).out, "password=new")
    git(t, "erase", HTTPS + "username=me\npassword=new\n").ok()
    equal(git(t, "get", HTTPS).out, "")


@test
def empty_fields_match_nothing(t):
    store(t, HTTPS + "username=me\npassword=s3cret\n")
    for text in ("", "\n", "protocol=https\n", "host=example.com\n",
                 "protocol=https\nhost=\n", "protocol=\nhost=example.com\n",
                 "username=me\n"):
        for action in ("get", "erase"):
            r = refused(git(t, action, text), 2, "refused")
            lacks(r.err, "s3cret")
    equal(len(names(t)), 1)


@test
def line_ends_and_nul_are_refused(t):
    for text in (HTTPS + "username=me\npassword=a\rb\n",
                 HTTPS + "username=me\npassword=a\0b\n",
                 "protocol=https\nhost=example.com\r\n",
                 HTTPS + "username=me\r\npassword=x\n",
                 HTTPS + "no equals sign\n", HTTPS + "=x\n",
                 HTTPS + "host=evil.test\n",
                 HTTPS + "username=me\npassword=\xff\n".encode("latin-1")
                 .decode("latin-1")):
        if "\xff" in text:
            text = text.encode("latin-1")
        for action in ("store", "get", "erase"):
            r = git(t, action, text)
            check(r.code == 2 and r.err.count("\n") == 1, repr(text), repr(r))
    equal(names(t), [])


@test
def overlong_input_is_refused(t):
    r = git(t, "store", HTTPS + "username=me\npassword=" + "x" * 200000 + "\n")
    equal(r.code, 1)
    equal(names(t), [])


@test
def an_incomplete_credential_is_not_stored(t):
    store(t, HTTPS + "username=me\n")
    store(t, HTTPS + "password=x\n")
    equal(names(t), [])
    git(t, "capability", "").ok()	# A later git may ask


@test
def an_expired_credential_is_not_returned(t):
    extra = "password_expiry_utc=%d\noauth_refresh_token=r3fresh\n"
    store(t, HTTPS + "username=me\npassword=x\n" + extra % 1000)
    equal(git(t, "get", HTTPS).ok().out, "")
    store(t, HTTPS + "username=me\npassword=x\n" + extra % 99999999999)
    equal(git(t, "get", HTTPS).ok().out, "username=me\npassword=x\n"
          "password_expiry_utc=99999999999\noauth_refresh_token=r3fresh\n")


@test
def git_uses_the_credential_helper(t):
    need("git")
    config = ("-c", "credential.helper=", "-c",
              f"credential.helper=!{CLOCHE} secret git-credential")
    env = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
           "DBUS_SESSION_BUS_ADDRESS": None}
    t.outside("git", *config, "credential", "approve", env=env,
              stdin=HTTPS + "username=me\npassword=s3cret\n\n").ok()
    r = t.outside("git", *config, "credential", "fill", env=env,
                  stdin="url=https://example.com/x.git\n\n").ok()
    contains(r.out, "password=s3cret\n")
    t.outside("git", *config, "credential", "reject", env=env,
              stdin=HTTPS + "username=me\npassword=s3cret\n\n").ok()
    r = t.outside("git", *config, "credential", "fill", env=env,
                  stdin=HTTPS + "\n")
    lacks(r.out, "s3cret")


def docker(t, action, text):
    link = os.path.join(t.away, "docker-credential-cloche")
    if not os.path.lexists(link):
        os.symlink(os.path.join(BIN, "cloche-secret"), link)
    return t.outside(link, action, stdin=text,
                     env={"DBUS_SESSION_BUS_ADDRESS": None})


URL = "https://index.docker.io/v1/"
LOGIN = {"ServerURL": URL, "Username": "me", "Secret": "s3cret"}


@test
def docker_s_credentials_are_stored_found_listed_and_erased(t):
    r = docker(t, "get", URL).ended(1)
    equal(r.out, "credentials not found in native keychain\n")
    docker(t, "store", json.dumps(LOGIN)).ok()
    equal(json.loads(docker(t, "get", URL + "\n").ok().out), LOGIN)
    equal(json.loads(docker(t, "list", "").ok().out), {URL: "me"})
    put(t, "unrelated", "x").ok()
    equal(json.loads(docker(t, "list", "").ok().out), {URL: "me"})
    docker(t, "erase", URL).ok()
    docker(t, "get", URL).ended(1)
    equal(json.loads(docker(t, "list", "").ok().out), {})


@test
def a_symlink_named_docker_credential_cloche_works(t):
    """A link to either program, under the helper's name"""
    env = {"DBUS_SESSION_BUS_ADDRESS": None}
    for number, program in enumerate(("cloche", "cloche-secret")):
        path = os.path.join(t.away, f"links{number}")
        os.mkdir(path)
        for tool in ("docker", "git"):
            os.symlink(os.path.join(BIN, program),
                       f"{path}/{tool}-credential-cloche")
        t.outside(path + "/docker-credential-cloche", "store", env=env,
                  stdin=json.dumps(LOGIN)).ok()
        r = t.outside(path + "/docker-credential-cloche", "get", env=env,
                      stdin=URL).ok()
        equal(json.loads(r.out), LOGIN)
        t.outside(path + "/git-credential-cloche", "store", env=env,
                  stdin=HTTPS + "username=me\npassword=x\n").ok()
        r = t.outside(path + "/git-credential-cloche", "get", env=env,
                      stdin=HTTPS).ok()
        contains(r.out, "password=x\n")
        equal(t.outside(path + "/git-credential-cloche", env=env).code, 2)


@test
def docker_s_bad_input_is_refused(t):
    for text in ("", "\n", "https://", "https:///x", "https://a\rb/",
                 "https://a\nhttps://b", "a\0b", "../x"):
        for action in ("get", "erase"):
            r = docker(t, action, text).ended(1)
            contains(r.out, "no credentials server URL")
    for change in ({"ServerURL": ""}, {"ServerURL": "https://"},
                   {"Username": ""}, {"Secret": ""}, {"Secret": "a\nb"},
                   {"Secret": "a\rb"}, {"Username": "a\nb"},
                   {"ServerURL": "https://a\nb"}):
        docker(t, "store", json.dumps({**LOGIN, **change})).ended(1)
    for text in ("", "[]", "{", '{"ServerURL":1}', '{"Secret":"a\\u0000"}'):
        docker(t, "store", text).ended(1)
    equal(docker(t, "frobnicate", "").code, 2)
    equal(names(t), [])


main()
