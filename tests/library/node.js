// SPDX-License-Identifier: Apache-2.0
// tests/library/node.js - the package for Node, installed

'use strict';

const assert = require('node:assert');
const { spawnSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const test = require('node:test');
const { Worker } = require('node:worker_threads');
const { Sandbox, ClocheError } = require('cloche');

const away = process.env.AWAY;
const long = Boolean(process.env.CLOCHE_LONG);
const fresh = () => fs.mkdtempSync(path.join(away, 'd'));
const countFds = () => fs.readdirSync('/proc/self/fd').length;
const CONNECT = (port) => `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:${port} HTTP/1.1\\r\\n\\r\\n' >&3; read -r a b c <&3; echo $b; exec 3<&-`;

// A server on the host's loopback while fn(port) runs
async function withServer(fn) {
  const server = net.createServer((socket) => socket.destroy());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await fn(server.address().port);
  } finally {
    server.close();
  }
}

// The end of a pipe that is held by whatever the run started
const ended = (stream) => new Promise((resolve) => {
  if (stream.closed) return resolve();
  stream.resume();
  stream.on('close', resolve);
});

test('status, output, input, directory and environment', async () => {
  const box = new Sandbox();
  const dir = fs.realpathSync(fresh());
  let r = await box.run(['sh', '-c', 'echo out; echo err >&2; exit 7']);
  assert.deepStrictEqual([r.status, r.signal, r.stdout, r.stderr, r.sandboxed],
    [7, null, 'out\n', 'err\n', true]);
  r = await box.run('cat; pwd; echo $LANG', { input: 'in\n', cwd: dir,
    env: { LANG: 'C', PATH: process.env.PATH } });
  assert.strictEqual(r.stdout, `in\n${dir}\nC\n`);
  r = await box.run('kill -9 $$');
  assert.deepStrictEqual([r.status, r.signal], [137, 'SIGKILL']);
  r = await box.run(['no-such-program']);
  assert.strictEqual(r.status, 127);
});

test('commands of a session share a sandbox', async () => {
  const dir = fresh();
  const session = new Sandbox(null, { write: dir }).session('node-test');
  const look = `kill -0 $(cat ${dir}/pid) && cat /tmp/x`;
  try {
    let r = await session.run(`sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >${dir}/pid; echo x >/tmp/x`,
      { cwd: dir });
    assert.strictEqual(r.status, 0);
    r = await session.run(look, { cwd: dir });
    assert.deepStrictEqual([r.status, r.stdout], [0, 'x\n']);
    // The control: a run of its own
    r = await new Sandbox(null, { write: dir }).run(look, { cwd: dir });
    assert.notStrictEqual(r.status, 0);
    // A refusal is its own command's
    const seen = [], other = fresh();
    session.on('violation', (v, run) => seen.push([v.kind, v.target, run.constructor.name]));
    r = await session.run(`echo hi >${other}/file`, { cwd: dir });
    assert.deepStrictEqual(seen, [['fs-write', `${other}/file`, 'Run']]);
    assert.strictEqual(r.violations.length, 1);
    assert.strictEqual((await session.run(look, { cwd: dir })).violations.length, 0);
    await assert.rejects(new Sandbox().session('node-test').run('true', { cwd: dir }),
      /another policy/);
  } finally {
    await session.stop();
  }
  await session.stop();
});

test('a refusal is an event, and is in the result', async () => {
  const dir = fresh();
  const box = new Sandbox();
  const seen = [];
  box.on('violation', (v, run) => seen.push([v.kind, v.target, run.constructor.name]));
  const r = await box.run(`echo hi >${dir}/file`);
  assert.deepStrictEqual(seen, [['fs-write', `${dir}/file`, 'Run']]);
  assert.strictEqual(r.violations.length, 1);
  const allowed = await new Sandbox(null, { write: [dir] }).run(`echo hi >${dir}/file`);
  assert.deepStrictEqual([allowed.status, allowed.violations.length], [0, 0]);
});

test('a question is answered, now or later', async () => withServer(async (port) => {
  for (const [answer, want] of [['allow', '200\n'], ['deny', '403\n']]) {
    const box = new Sandbox();
    box.on('ask', (question) => {
      assert.deepStrictEqual([question.host, question.port], ['127.0.0.1', port]);
      setImmediate(() => question[answer]());
    });
    const r = await box.run(['bash', '-c', CONNECT(port)]);
    assert.strictEqual(r.stdout, want);
  }
  const nobody = await new Sandbox().run(['bash', '-c', CONNECT(port)]);
  assert.strictEqual(nobody.stdout, '403\n');
}));

test('a new policy counts at once, a wrong one changes nothing', async () => withServer(async (port) => {
  const dir = fresh();
  const box = new Sandbox({ filesystem: { allowWrite: [] } });
  const run = box.start(['bash', '-c', `while read x; do (echo hi >${dir}/file) 2>/dev/null && echo yes || echo no; ${CONNECT(port)}; done`]);
  const lines = require('node:readline').createInterface({ input: run.stdout })[Symbol.asyncIterator]();
  const turn = async () => {
    run.stdin.write('\n');
    return [(await lines.next()).value, (await lines.next()).value];
  };
  assert.deepStrictEqual(await turn(), ['no', '403']);
  await box.update({ filesystem: { allowWrite: [dir] }, network: { allowedDomains: ['127.0.0.1'] } });
  assert.deepStrictEqual(await turn(), ['yes', '200']);
  await assert.rejects(box.update({ filesystem: { allowWrite: 7 } }), (error) =>
    error instanceof ClocheError && error.code === 'EINVAL' && /allowWrite/.test(error.message));
  assert.deepStrictEqual(await turn(), ['yes', '200']);
  run.stdin.end();
  assert.strictEqual((await run.result).status, 0);
  // It holds for what starts later, too
  assert.strictEqual((await box.run(`echo hi >${dir}/file`)).status, 0);
}));

test('what starts during an update, or ends, is no obstacle', async () => {
  const dir = fresh();
  const box = new Sandbox({ filesystem: { allowWrite: [dir] } });
  const first = box.start(['cat']);
  await new Promise((resolve) => first.once('started', resolve));
  const updated = box.update({ filesystem: { allowWrite: [] } });
  const second = box.start(`read x; echo hi >${dir}/file`);
  await updated;
  second.stdin.end('\n');
  first.stdin.end();
  assert.notStrictEqual((await second.result).status, 0);
  for (let i = 0; i < 20; i++) {
    const ending = box.run(['true']);
    await Promise.all([ending, box.update({}), new Promise((resolve) => setTimeout(resolve, i))
      .then(() => box.update({}))]);
  }
});

test('mistakes are errors with words', async () => {
  for (const command of [undefined, null, {}, 5])
    await assert.rejects(new Sandbox().run(command), TypeError);
  await assert.rejects(new Sandbox().run(['cat'], { input: 5 }), TypeError);
  assert.throws(() => new Sandbox(null, { noSuch: 'x' }), /no-such/);
  assert.throws(() => new Sandbox(null, { timeout: 'soon' }), /timeout/);
  assert.throws(() => new Sandbox('settings.json'), /JSON/);
  await assert.rejects(new Sandbox({ filesystem: { allowWrite: 7 } }).run('true'),
    (error) => error instanceof ClocheError && error.errno < 0 && /allowWrite/.test(error.message));
  await assert.rejects(new Sandbox(null, { program: '/no/such' }).run('true'), /no\/such/);
  await assert.rejects(new Sandbox().run(['a\0b']), /NUL/);
  assert.throws(() => new Sandbox().start('true', { stdio: ['what', 'pipe', 'pipe'] }), /stdio/);
});

test('what was denied is denied or an error', () => {
  for (const wrong of [new Set(['/etc']), [undefined], [null], [true], { 0: '/etc' }])
    assert.throws(() => new Sandbox(null, { denyRead: wrong }), /denyRead/);
  assert.throws(() => new Sandbox(null, { write: ['/tmp/\0job'] }), /NUL/);
  assert.ok(new Sandbox(null, { denyRead: ['/etc/hosts'], write: undefined, timeout: 5 }));
});

test('abort, kill and close end the command and all it started', async () => {
  const box = new Sandbox();
  const control = new AbortController();
  const aborted = box.start('sleep 1000 & sleep 1000', { signal: control.signal });
  const killed = box.start("trap 'exit 5' TERM; echo; sleep 1000 & wait");
  const closed = box.start('sleep 1000');
  await new Promise((resolve) => killed.stdout.once('data', resolve));
  control.abort();
  assert.strictEqual((await aborted.result).signal, 'SIGKILL');
  killed.kill();
  assert.strictEqual((await killed.result).status, 5);
  assert.strictEqual(killed.kill(), false);
  assert.strictEqual(box.running.length, 1);
  await box.close();
  await ended(closed.stdout);
  assert.strictEqual(box.running.length, 0);
});

test('a wrapped line runs by itself', () => {
  const box = new Sandbox(null, { timeout: '30s' });
  const done = spawnSync(box.wrap("echo 'it works'"), { shell: true });
  assert.strictEqual(String(done.stdout), 'it works\n');
});

test('twenty side by side, a hundred one after the other, and nothing is left', async () => {
  const box = new Sandbox();
  const many = await Promise.all(Array.from({ length: 20 }, (_, i) => box.run(`exit ${i}`)));
  assert.deepStrictEqual(many.map((r) => r.status), Array.from({ length: 20 }, (_, i) => i));
  await box.run('true');
  await new Promise(setImmediate);
  const before = countFds();
  for (let i = 0; i < (long ? 1000 : 100); i++) await box.run('true');
  await new Promise(setImmediate);
  assert.ok(countFds() <= before, `${countFds()} descriptors, ${before} before`);
});

test('a command ends with the process or the worker that started it', async () => {
  const code = `const { Sandbox } = require('cloche');
    new Sandbox().start("echo; sleep 1000", { stdio: ['ignore', 1, 'ignore'] });`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.kill('SIGKILL');
  await ended(child.stdout);

  const worker = new Worker(`const { Sandbox } = require('cloche');
    const run = new Sandbox().start("echo; exec sleep 1000", { stdio: ['ignore', 'pipe', 'ignore'] });
    run.stdout.once('data', () => require('worker_threads').parentPort.postMessage('up'));`, { eval: true });
  await new Promise((resolve) => worker.once('message', resolve));
  assert.strictEqual(await worker.terminate(), 1);
  const left = spawnSync('sh', ['-c', `cat /proc/${process.pid}/task/*/children`]);
  for (const pid of String(left.stdout).split(/\s+/).filter(Boolean)) {
    const name = fs.existsSync(`/proc/${pid}/comm`) ? fs.readFileSync(`/proc/${pid}/comm`, 'utf8') : '';
    assert.notStrictEqual(name, 'cloche\n');
  }
});

test('a signal that was given before starts nothing', async () => {
  const file = path.join(fresh(), 'ran');
  const box = new Sandbox(null, { write: path.dirname(file) });
  await assert.rejects(box.run(`sleep 0.1; touch ${file}; touch ${file}2`, { signal: AbortSignal.abort() }),
    { name: 'AbortError' });
  assert.throws(() => box.start('true', { signal: AbortSignal.abort() }), { name: 'AbortError' });
  assert.deepStrictEqual(box.running, []);
});

test('a variable without a value is left out', async () => {
  const box = new Sandbox(null, { passEnv: true });
  const { stdout } = await box.run('echo "${A-unset} ${B-unset}"',
    { env: { ...process.env, A: undefined, B: '' } });
  assert.strictEqual(stdout, 'unset \n');
});

test('a wrong option is a ClocheError', () => {
  assert.throws(() => new Sandbox(null, { nonsense: 1 }), (e) => e instanceof ClocheError && e.code === 'EINVAL');
});

test('in a worker nothing is warned of', async () => {
  const worker = new Worker(`const { Sandbox } = require('cloche');
    const { parentPort } = require('worker_threads');
    const warnings = [];
    process.on('warning', (w) => warnings.push(w.message));
    new Sandbox().run('cat', { input: 'x' }).then(() => setImmediate(() => parentPort.postMessage(warnings)));`,
  { eval: true });
  assert.deepStrictEqual(await new Promise((resolve) => worker.once('message', resolve)), []);
});

test('output that is not kept is told', async () => {
  const box = new Sandbox();
  const { stdout, messages } = await box.run('head -c 70000000 /dev/zero');
  assert.strictEqual(stdout.length, 64 << 20);
  assert.match(messages.join(), /standard output/);
});

test('what a listener throws is not swallowed', () => {
  const code = `const { Sandbox } = require('cloche');
    process.on('uncaughtException', (e) => { console.log('caught', e.message); process.exit(0); });
    const box = new Sandbox();
    box.on('violation', () => { throw new Error('mine'); });
    box.run('echo hi >/nowhere');`;
  const done = spawnSync(process.execPath, ['-e', code]);
  assert.strictEqual(String(done.stdout), 'caught mine\n', String(done.stderr));
});

test('what is on Object.prototype is no option', async () => {
  const dir = fresh(), ran = path.join(dir, 'ran');
  const bad = { program: '/bin/false', env: { HOME: '/nonexistent' }, cwd: '/', stdio: 'nonsense',
                input: 'x', write: [dir], profile: 'srt', net: 'host', capture: false };
  Object.assign(Object.prototype, bad);
  try {
    const r = await new Sandbox(null, {}).run(`pwd; touch ${ran}; echo $HOME`, {});
    assert.strictEqual(r.sandboxed, true);
    assert.strictEqual(r.stdout, `${process.cwd()}\n${process.env.HOME}\n`);
    assert.strictEqual(fs.existsSync(ran), false);
  } finally {
    for (const name of Object.keys(bad)) delete Object.prototype[name];
  }
});

const cloche = require('cloche');

test('modes, refusals and secrets of this machine', async () => {
  assert.strictEqual(cloche.isSupportedPlatform(), true);
  cloche.setMode('auto-allow', { scope: 'user' });
  assert.strictEqual(cloche.getMode(), 'auto-allow');
  assert.throws(() => cloche.setMode('often'), /is not one of disabled, regular, auto-allow/);
  await new Sandbox().run('echo x >~/of-node');
  const found = cloche.getViolations({ kind: 'write', since: '1h' });
  assert.ok(found.some((v) => v.target.endsWith('/of-node')), JSON.stringify(found));
  cloche.secrets.set('OF_NODE', 'value');
  assert.ok(cloche.secrets.list().includes('OF_NODE'));
  cloche.secrets.delete('OF_NODE');
  assert.ok(!cloche.secrets.list().includes('OF_NODE'));
});

test('settings of Claude Code as a configuration of sandbox-runtime', () => {
  const got = cloche.convertToSandboxRuntimeConfig({
    permissions: { allow: ['Edit(//srv/**)', 'Edit(/out)', 'WebFetch(domain:a.example.org)', 'Bash(ls)'],
      deny: ['Read(~/.env)', 'Edit(secret)', 'WebFetch(domain:b.example.org)'] },
    sandbox: { network: { allowedDomains: ['c.example.org', 'a.example.org'], allowLocalBinding: true },
      filesystem: { denyRead: ['/x'] }, ignoreViolations: { '*': ['y'] } },
  }, { cwd: '/base', root: '/project' });
  assert.deepStrictEqual(got, {
    network: { allowLocalBinding: true, allowedDomains: ['c.example.org', 'a.example.org'],
      deniedDomains: ['b.example.org'] },
    filesystem: { denyRead: ['/x', '~/.env'], allowRead: [],
      allowWrite: ['.', '/srv/**', '/project/out'], denyWrite: ['/base/secret'] },
    ignoreViolations: Object.assign(Object.create(null), { '*': ['y'] }),
  });
  const { SandboxRuntimeConfigSchema } = require('cloche/srt');
  assert.ok(SandboxRuntimeConfigSchema.safeParse(got).success);
});

test('tags are taken out', () => {
  assert.strictEqual(cloche.removeSandboxViolationTags(
    'a\n<sandbox_violations>\ndeny x\n</sandbox_violations>\nb <b>'), 'ab <b>');
});

test('on another system the package loads and says so', () => {
  const code = `Object.defineProperty(process, 'platform', { value: 'darwin' });
    const cloche = require('cloche'), { SandboxManager } = require('cloche/srt');
    console.log(cloche.isSupportedPlatform(), SandboxManager.isSupportedPlatform(),
      SandboxManager.checkDependencies().errors[0], cloche.version);
    try { new cloche.Sandbox(); } catch (error) { console.log(error.message); }
    try { cloche.getMode(); } catch (error) { console.log(error.message); }`;
  const out = require('node:child_process').execFileSync(process.execPath, ['-e', code], { encoding: 'utf8' });
  assert.strictEqual(out, 'false false cloche needs Linux, this is darwin undefined\n' +
    'cloche needs Linux, this is darwin\n'.repeat(2));
});
