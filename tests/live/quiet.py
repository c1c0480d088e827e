# SPDX-License-Identifier: Apache-2.0
"""tests/live/quiet.py - successful commands print nothing of cloche"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

# Typed on a terminal, with what is typed then
TYPED = {
    "vim": ("vim -u NONE -c 'set viminfo=!' a.txt", b"ohello\x1b:wq\r"),
    "vi with its settings": ("vi a.txt", b":wq\r"),
    "less": ("less long.txt", b" q"),
    "git log in a pager": ("git log -p", b"q"),
    "man": ("man ls", b"q"),
    "top": ("top -n 1", b"q"),
    "bash": ("bash -i", b"echo one\nexit\n"),
    "zsh": ("zsh -f -i", b"echo one\nexit\n"),
    "node's own shell": ("node", b"1+1\n.exit\n"),
    "python's own shell": ("python3 -q", b"1+1\nexit()\n"),
    "sqlite3's own shell": ("sqlite3 a.db", b"select 1;\n.exit\n"),
    "gdb": ("gdb -q", b"quit\n"),
    "tclsh": ("tclsh", b"exit\n"),
    "bc": ("bc -q", b"1+1\nquit\n"),
    "tmux": ("tmux -f /dev/null new-session 'echo one'", b""),
}

PLAIN = """git status
git log --oneline
git diff
git branch new
git stash list
git grep hello
git commit -q --allow-empty -m x
git clone -q . copy
git gc -q
make -n
make
cc -c main.c
gcc -o main main.c
ccache cc -c main.c
cmake -S . -B cm
ninja --version
meson --version
valgrind --version
npm --version
npm init -y
npm test
npm ls
npx --no-install --version
node -e 1
python3 -c 1
python3 -m venv v
python3 -m json.tool package.json
python3 -m compileall -q .
pip --version
pip list
perl -e 1
sqlite3 a.db 'create table if not exists t(a); insert into t values(1)'
psql --version
java -version
javac -version
mvn -v
curl --version
wget --version
tar cf a.tar long.txt
zip -q a.zip long.txt
unzip -o -q a.zip
gzip -kf long.txt
xz -kf long.txt
find . -name '*.c'
grep -r hello .
rg hello
awk 1 long.txt
sed -i s/1/2/ long.txt
jq . package.json
file main.c
diff main.c main.c
sort long.txt
xxd long.txt
openssl version
ssh-keygen -q -t ed25519 -N '' -f key
gpg --version
strace -o trace true
shellcheck --version
df .
du -s .
ps aux
free
uptime
id
who
env
date
dpkg -l
apt-cache policy bash
ls -la ~
dd if=/dev/zero of=z bs=1 count=1
split long.txt part-
shuf long.txt
seq 3
tee copy.txt < long.txt
script -q -c true typescript
stty --version
tput -T xterm cols
git blame a.txt
git fetch -q . HEAD
git tag -l
git config --list
rsync -a long.txt copy2.txt
top -b -n 1
vmstat
lscpu
ip addr
ss -tln
bash -lic true
python3 -m unittest -h
python3 -c 'import multiprocessing as m; m.Pool(2).map(abs, [1, 2])'
node --test
node -e 'require("http").createServer().listen(0, function () { this.close() })'
npm run
npm pack --dry-run
npm config list
make -B
crontab -l
locale
fc-list
apt list --installed
podman --version
terraform version
xargs -P 2 -n 1 echo < a.txt
emacs -Q --batch
go env
ssh -G localhost
git pull -q ../remote.git HEAD
git fetch -q ../remote.git
git worktree list
git shortlog -s HEAD
git remote -v
npm ci --offline
pytest -q -p no:cacheprovider
python3 -m pytest -q
python3 -m pip check
cargo build --offline --manifest-path rs/Cargo.toml
clang -o main2 main.c
tar xf a.tar
redis-cli --version
nano --version
htop --version
tmux -V
ssh -V
gpg --list-keys
systemctl --version
journalctl --no-pager -n 1
journalctl --user --no-pager -n 1
df -h
mount
findmnt
ip route
ping -c 1 127.0.0.1
lsblk
lsof -p 1
last
hostname
uname -a
nproc
flock long.txt true
mktemp
mkfifo pipe
setsid true
nohup true
watch --version
column long.txt
man -w ls
vim -es -c q a.txt
ruby -e 1
docker --version
strace -c true"""


def project(t):
    t.write("long.txt", "".join(f"{i}\n" for i in range(1, 200)))
    t.write("a.txt", "hello\n")
    t.write("main.c", "int main(void) { return 0; }\n")
    t.write("Makefile", "main: main.c\n\tcc -o main main.c\n")
    t.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.5)\nproject(p C)\n"
            "add_executable(m main.c)\n")
    t.write(os.path.join(t.home, ".gitconfig"), "[user]\nname=n\nemail=e@x\n")
    t.outside("git", "init", "-q").ok()
    t.outside("git", "add", "-A").ok()
    t.outside("git", "commit", "-q", "-m", "first").ok()
    t.outside("git", "clone", "-q", "--bare", ".", "../remote.git").ok()
    t.write("test_one.py", "def test_one():\n    pass\n")
    t.write("package-lock.json", '{"name":"p","version":"1.0.0","lockfileVersion":3,'
            '"packages":{"":{"name":"p","version":"1.0.0"}}}')
    t.write("rs/Cargo.toml", '[package]\nname="x"\nversion="0.1.0"\nedition="2021"\n')
    t.write("rs/src/main.rs", "fn main() {}\n")
    os.mkdir(t.home + "/.gnupg", 0o700)


def program(line):
    return shutil.which(line.split()[0])


@test(timeout=900)
def successful_commands_print_nothing_of_cloche(t):
    project(t)
    quiet, missing, loud = 0, [], []
    t.write("package.json", '{"name":"p","version":"1.0.0","scripts":{"test":"true"}}')
    for line in PLAIN.split("\n"):
        if not program(line):
            missing.append(line.split()[0])
            continue
        r = t.shell(line)
        if r.code != 0 and t.outside("sh", "-c", line).code != 0:
            missing.append(line)		# Not here either without us
            continue
        quiet += 1
        if r.code or "cloche:" in r.err:
            loud.append((line, r.code, r.err[-600:]))
    note(quiet, "commands; not here:", ", ".join(missing))
    equal(loud, [])
    check(quiet >= 60, quiet)


@test(timeout=900)
def successful_programs_on_a_terminal_print_nothing_of_cloche(t):
    project(t)
    missing, loud = [], []
    for name, (line, typed) in TYPED.items():
        if not program(line):
            missing.append(name)
            continue
        r = t.run("run", "--", "sh", "-c", line, tty=True, stdin=typed,
                  env={"TERM": "xterm"})
        # git log has the status of SIGPIPE if it still writes when the pager is left
        if r.code not in (0, 141) or "cloche:" in r.out:
            loud.append((name, r.code, r.out[-500:]))
    note("not here:", ", ".join(missing))
    equal(loud, [])


@test
def verbose_counts_unreported_refusals(t):
    script = "echo x 2>/dev/null > ~/.lesshst; true"
    equal(t.shell(script).ok().err, "")
    equal(t.shell(script + "; exit 141").ended(141).err, "")
    contains(t.shell(script + "; exit 1").ended(1).err, "refused 1 thing\n")
    r = t.shell(script, options=["-v"]).ok()
    contains(r.err, "refused and not missed: 1 more: cloche violations list --run ")
    contains(t.run("violations", "list").ok().out, "/.lesshst")
    # The control: what is planted there is told, whether it succeeds or not
    contains(t.shell("echo x 2>/dev/null > ~/.bashrc; true").ok().err, "refused 1 thing\n")


main()
