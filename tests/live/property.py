# SPDX-License-Identifier: Apache-2.0
"""tests/live/property.py - random policies against the reference evaluator

A tree of four levels with files, directories and links; random lists over its
paths; what a process inside can see, read, write, create and rename must be
what tests/harness/reference.py says. CLOCHE_SEED=N repeats a run.
"""

import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from reference import LISTS, Reference, agrees, covers

POLICIES = long(500, 10000) // (5 if SANITIZED else 1)
POLICIES_PER_TREE = 25
DEPTH = 4
OPTIONS = {"allowWrite": "--write", "denyWrite": "--deny-write",
           "allowRead": "--read", "denyRead": "--deny-read"}
SEED = int(os.environ.get("CLOCHE_SEED", "0")) or random.randrange(1 << 30)


def plant(dice, path, depth, found):
    """A random tree below the directory @path; its paths into @found"""
    for name in ("a", "b", "c d"):
        if depth < DEPTH and dice.random() < (0.9, 0.8, 0.5, 0.4)[depth]:
            below = f"{path}/{name}"
            os.mkdir(below)
            found.append(below)
            plant(dice, below, depth + 1, found)
    for name in ("f", "g"):
        if dice.random() < 0.6:
            with open(f"{path}/{name}", "w") as file:
                file.write(dice.choice(("", "text")))
            found.append(f"{path}/{name}")


def plant_links(dice, world, found):
    """Some links to what is there, none of which leads through another"""
    plain = list(found)
    directories = [p for p in plain if os.path.isdir(p)] + [world]
    for number in range(dice.randrange(5)):
        link = f"{dice.choice(directories)}/l{number}"
        target = dice.choice(plain + [world + "/missing"])
        if dice.random() < 0.5:
            target = os.path.relpath(target, os.path.dirname(link))
        os.symlink(target, link)
        found.append(link)


def random_policy(dice, world, found):
    policy = {}
    for name in LISTS:
        count = dice.choice((0, 0, 1, 1, 2, 3) if name != "allowWrite"
                            else (0, 1, 1, 2, 3))
        paths = [dice.choice(found + [world]) for _ in range(count)]
        if dice.random() < 0.1:
            paths.append(world + "/no/such/path")
        policy[name] = paths
    return policy


def spelled(dice, path):
    """One of the ways to write @path in a settings file"""
    style = dice.randrange(4)
    if style == 0:
        return path + "/" if os.path.isdir(path) else path
    if style == 1:
        return path.replace("/", "//", 1)
    if style == 2:
        return f"{os.path.dirname(path)}/./{os.path.basename(path)}"
    return path


def as_settings(t, dice, policy):
    file = t.write(t.away + "/s.json", json.dumps({"filesystem": {
        name: [spelled(dice, p) for p in paths]
        for name, paths in policy.items()}}))
    return ["--quiet", "-s", file]


def as_options(policy, dice):
    """The same on the command line, where an allowed path must exist"""
    words = ["--quiet"]
    for name, paths in policy.items():
        for path in paths:
            if name.startswith("deny") or os.path.exists(path):
                words += [OPTIONS[name], spelled(dice, path)]
    return words


def through_links(policy):
    """Paths that no option may name: links lead there, and no rule allows it"""
    return {name: {path for path in paths if os.path.exists(path) and
                   os.path.realpath(path) != path and
                   not any(covers(p, os.path.realpath(path)) for p in paths)}
            for name, paths in policy.items() if name.startswith("allow")}


def compare(t, dice, policy, found, what):
    if dice.random() < 0.5:
        words = as_settings(t, dice, policy)
    else:
        links = through_links(policy)
        if any(links.values()):
            r = t.inside("true", options=as_options(policy, dice)).ended(125)
            contains(r.err, "goes through the symbolic link", what, policy)
        policy = {name: [p for p in paths if p not in links.get(name, ())]
                  for name, paths in policy.items()}
        words = as_options(policy, dice)
    r = t.inside(t.probe(), "walk", options=words,
                 stdin="".join(p + "\n" for p in found)).ok(what, policy)
    reference = Reference(policy)
    answers = r.out.splitlines()
    equal(len(answers), len(found), "answers", repr(r))
    for path, line in zip(found, answers):
        want, got = reference.answer(path), line[:6]
        check(agrees(want, got), f"{what}: {path}: is {got}, not {want}, under",
              json.dumps(policy))


@test(timeout=60 + POLICIES)
def access_under_random_policies_matches_the_reference(t):
    print(f"# CLOCHE_SEED={SEED}, {POLICIES} policies")
    done = 0
    while done < POLICIES:
        seed = SEED + done
        dice = random.Random(seed)
        world = f"{t.home}/world{done}"
        os.mkdir(world)
        found = []
        plant(dice, world, 0, found)
        plant_links(dice, world, found)
        for _ in range(POLICIES_PER_TREE):
            policy = random_policy(dice, world, found)
            compare(t, dice, policy, found, f"seed {seed}")
            done += 1
        running()	# Buries those that were left to us
    equal(done >= POLICIES, True)


@test
def the_comparison_detects_a_difference(t):
    world = t.home + "/world"
    t.write(world + "/f", "")
    found = [world + "/f"]
    real = {"allowWrite": [], "denyWrite": [], "allowRead": [], "denyRead": []}
    equal(Reference(real).answer(found[0]), "sr----")
    open_world = {**real, "allowWrite": [world]}
    equal(Reference(open_world).answer(found[0]), "srw-nt")
    check(not agrees("srw-nt", "sr----"))
    check(agrees("sr--?-", "sr--n-"))


main()
