// SPDX-License-Identifier: Apache-2.0
// tests/library/srt.js - what an embedder of sandbox-runtime calls, on cloche

'use strict';

const assert = require('node:assert');
const childProcess = require('node:child_process');
const { spawn } = childProcess;
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const cloche = require('cloche');
const { SandboxManager, SandboxViolationStore } = require('cloche/srt');

const away = process.env.AWAY;
const fresh = () => fs.mkdtempSync(path.join(away, 'd'));
const config = (allowWrite = [], allowedDomains = []) => ({
  network: { allowedDomains, deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite, denyWrite: [] },
});

// As embedders do it: the line goes to a shell
function run(line, feed) {
  const child = spawn(line, { shell: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const got = { out: '', err: '' };
  child.stdout.on('data', (d) => { got.out += d; feed?.(child, got); });
  child.stderr.on('data', (d) => { got.err += d; });
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...got, code })));
}

test.afterEach(() => SandboxManager.reset());

test('initialize, wrap, annotate, reset', async () => {
  const dir = fresh();
  assert.strictEqual(SandboxManager.isSupportedPlatform(), true);
  assert.deepStrictEqual(SandboxManager.checkDependencies().errors, []);
  await assert.rejects(SandboxManager.wrapWithSandbox('true'), /not initialized/);
  await SandboxManager.initialize(config());
  await SandboxManager.initialize(config());   // The same again is fine
  await assert.rejects(SandboxManager.initialize(config(['/srv'])), { code: 'initialize_conflict' });
  assert.strictEqual(SandboxManager.isSandboxingEnabled(), true);

  const command = `echo out; echo hi >${dir}/file`;
  const r = await run(await SandboxManager.wrapWithSandbox(command));
  assert.strictEqual(r.out, 'out\n');
  assert.notStrictEqual(r.code, 0);
  const annotated = SandboxManager.annotateStderrWithSandboxFailures(command, r.err);
  assert.ok(annotated.startsWith(r.err));
  assert.match(annotated, new RegExp(`\n<sandbox_violations>\ndeny fs-write ${dir}/file .*\n</sandbox_violations>$`));
  assert.strictEqual(SandboxManager.annotateStderrWithSandboxFailures('another', 'x'), 'x');

  const store = SandboxManager.getSandboxViolationStore();
  assert.ok(store instanceof SandboxViolationStore);
  assert.deepStrictEqual([store.getCount(), store.getTotalCount()], [1, 1]);
  const line = await SandboxManager.wrapWithSandbox('true');
  const place = line.match(/--settings (\S+)\/settings\.json/)[1];
  await SandboxManager.reset();
  assert.strictEqual(fs.existsSync(place), false);
  assert.strictEqual(store.getCount(), 0);
});

test('subscribers hear of a refusal while the command runs', async () => {
  await SandboxManager.initialize(config());
  const heard = new Promise((resolve) => SandboxManager.getSandboxViolationStore()
    .subscribe((all) => all.length && resolve(all[0])));
  const child = spawn(await SandboxManager.wrapWithSandbox(`echo hi >${fresh()}/file; sleep 1000`),
    { shell: true, stdio: 'ignore', detached: true });
  assert.match((await heard).line, /^deny fs-write /);
  process.kill(-child.pid, 'SIGTERM');
  await new Promise((resolve) => child.on('close', resolve));
});

test('updateConfig reaches a command that runs', async () => {
  const dir = fresh();
  await SandboxManager.initialize(config());
  const line = await SandboxManager.wrapWithSandbox(
    `try() { (echo hi >${dir}/file) 2>/dev/null && echo yes || echo no; }; try; while [ "$(try)" = no ]; do sleep 0.05; done; echo done`);
  const r = await run(line, (_, got) => {
    if (got.out === 'no\n') SandboxManager.updateConfig(config([dir]));
  });
  assert.deepStrictEqual([r.out, r.code], ['no\ndone\n', 0]);
  assert.throws(() => SandboxManager.updateConfig({ network: 7 }), /network/);
  assert.deepStrictEqual(SandboxManager.getConfig(), config([dir]));
});

test('the ask callback decides about unknown hosts', async () => {
  const asked = [];
  await SandboxManager.initialize(config(), async (question) => {
    asked.push(question);
    return question.host === 'yes.invalid';
  });
  const get = (host) => `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT ${host}:443 HTTP/1.1\\r\\n\\r\\n' >&3; read -r a b c <&3; echo $b`;
  const no = await run(await SandboxManager.wrapWithSandbox(get('no.invalid'), 'bash'));
  const yes = await run(await SandboxManager.wrapWithSandbox(get('yes.invalid'), 'bash'));
  assert.deepStrictEqual(asked, [{ host: 'no.invalid', port: 443 }, { host: 'yes.invalid', port: 443 }]);
  assert.strictEqual(no.out, '403\n');
  assert.notStrictEqual(yes.out, '403\n');   // It was let through, and is not there
});

test('a custom configuration replaces the lists that it names', async () => {
  const dir = fresh();
  await SandboxManager.initialize(config());
  const command = `echo hi >${dir}/file`;
  assert.notStrictEqual((await run(await SandboxManager.wrapWithSandbox(command))).code, 0);
  const line = await SandboxManager.wrapWithSandbox(command, undefined, { filesystem: { allowWrite: [dir] } });
  assert.strictEqual((await run(line)).code, 0);
  const { argv } = await SandboxManager.wrapWithSandboxArgv('exit 3');
  const child = spawn(argv[0], argv.slice(1));
  assert.strictEqual(await new Promise((resolve) => child.on('close', resolve)), 3);
});

test('hosts of one command', async () => {
  const id = 'x'.repeat(22);
  const get = `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT mine.invalid:443 HTTP/1.1\\r\\n\\r\\n' >&3; read -r a b c <&3; echo $b`;
  await SandboxManager.initialize(config());
  assert.throws(() => SandboxManager.registerCommandNetworkLists('short', {}), /22/);
  SandboxManager.registerCommandNetworkLists(id, { allowedDomains: ['mine.invalid'] });
  const mine = await run(await SandboxManager.wrapWithSandbox(get, 'bash', undefined, undefined, { commandId: id }));
  const other = await run(await SandboxManager.wrapWithSandbox(get, 'bash'));
  SandboxManager.unregisterCommandNetworkLists(id);
  const later = await run(await SandboxManager.wrapWithSandbox(get, 'bash', undefined, undefined, { commandId: id }));
  assert.notStrictEqual(mine.out, '403\n');
  assert.deepStrictEqual([other.out, later.out], ['403\n', '403\n']);
  assert.match(SandboxManager.annotateStderrWithSandboxFailures(id, ''), /mine.invalid:443/);
});

test('a schema judges a configuration', async () => {
  const { SandboxRuntimeConfigSchema } = await import(require.resolve('cloche/srt'));
  assert.strictEqual(SandboxRuntimeConfigSchema.safeParse(config()).success, true);
  assert.strictEqual(SandboxRuntimeConfigSchema.safeParse({ network: 7 }).success, false);
});

test('the command cannot reach the files of the manager', async () => {
  await SandboxManager.initialize(config(['/']));
  const line = await SandboxManager.wrapWithSandbox('true');
  const place = line.match(/--settings (\S+)\/settings\.json/)[1];
  const before = fs.readFileSync(`${place}/settings.json`, 'utf8');
  const r = await run(await SandboxManager.wrapWithSandbox(
    `cat ${place}/settings.json; echo '{}' >${place}/settings.json; mv ${place} ${place}.old; true`));
  assert.strictEqual(r.out, '');
  assert.strictEqual(fs.readFileSync(`${place}/settings.json`, 'utf8'), before);
});

test('what cannot be enforced is refused', async () => {
  const wrong = config();
  wrong.network.filterRequest = () => ({ action: 'deny' });
  await assert.rejects(SandboxManager.initialize(wrong), /filterRequest/);
  await assert.rejects(SandboxManager.initialize({ ...config(), filesystem: 7 }), /filesystem/);
  assert.strictEqual(SandboxManager.isSandboxingEnabled(), false);
});

test('the settings are where no command can write', async () => {
  await SandboxManager.initialize(config());
  const line = await SandboxManager.wrapWithSandbox('true');
  const program = line.split(' ')[0], file = line.match(/--settings (\S+)/)[1];
  const before = fs.readFileSync(file, 'utf8');

  // Another embedder's command, which may write whatever one is likely to
  const control = path.join(fresh(), 'control');
  const places = ['/tmp', process.env.XDG_RUNTIME_DIR ?? '/tmp', away, process.env.HOME];
  const script = `echo x > ${control}; echo '{}' > ${file}; echo '{}' > ${file}.other; mv ${path.dirname(file)} ${away}/moved`;
  const r = await run([program, 'run', '--profile', 'srt', '--no-settings',
    ...places.flatMap((place) => ['--write', place]), '--', 'sh', '-c', `"${script}"`].join(' '));
  assert.strictEqual(fs.existsSync(control), true, r.err);
  assert.strictEqual(fs.readFileSync(file, 'utf8'), before);
  assert.strictEqual(fs.existsSync(`${file}.other`), false);
});

test('what a killed manager left is removed', async () => {
  await SandboxManager.initialize(config());
  const own = path.dirname((await SandboxManager.wrapWithSandbox('true')).match(/--settings (\S+)/)[1]);
  const left = path.join(path.dirname(own), '999999999-abcdef');
  fs.mkdirSync(left);
  await SandboxManager.reset();
  await SandboxManager.initialize(config());
  assert.strictEqual(fs.existsSync(left), false);
});

test('what is on Object.prototype is no configuration', async () => {
  const dir = fresh();
  const bad = { filesystem: { disabled: true, allowWrite: [dir] }, network: { allowedDomains: ['*.example.org'] },
                shell: '/bin/false', commandId: 'x'.repeat(30) };
  await SandboxManager.initialize(config());
  Object.assign(Object.prototype, bad);
  try {
    const line = await SandboxManager.wrapWithSandbox(`touch ${dir}/ran`, undefined, {});
    const file = line.match(/--settings (\S+)/)[1];
    assert.deepStrictEqual(JSON.parse(fs.readFileSync(file)).filesystem.allowWrite, []);
    for (const name of Object.keys(bad)) delete Object.prototype[name];
    await run(line);
    assert.strictEqual(fs.existsSync(`${dir}/ran`), false);
  } finally {
    for (const name of Object.keys(bad)) delete Object.prototype[name];
  }
});

test('no command arms the next one', async () => {
  const dir = fresh();
  await SandboxManager.initialize(config([dir]));
  const files = ['.claude/settings.json', '.cloche.json', '.codex/hooks.json'].map((name) => path.join(dir, name));
  const r = await run(await SandboxManager.wrapWithSandbox(
    `echo x > ${dir}/control; for f in ${files.join(' ')}; do mkdir -p $(dirname $f); echo '{}' > $f; done`));
  assert.strictEqual(fs.existsSync(`${dir}/control`), true, r.err);
  assert.deepStrictEqual(files.filter((file) => fs.existsSync(file)), []);
});

const settingsOf = () => path.join(process.env.HOME, '.config/cloche/policy.json');

test('an excluded command is stored, and only there', () => {
  SandboxManager.addToExcludedCommands('docker *');
  SandboxManager.addToExcludedCommands('--json');   // A pattern, not an option
  assert.deepStrictEqual(JSON.parse(fs.readFileSync(settingsOf())).excludedCommands,
    ['docker *', '--json']);
  assert.deepStrictEqual(cloche.getExcludedCommands(), ['docker *', '--json']);
  fs.rmSync(settingsOf());
});

test('dependencies are looked for once', () => {
  const { errors, warnings } = SandboxManager.checkDependencies();
  const calls = [];
  const before = childProcess.execFileSync;
  childProcess.execFileSync = (...args) => { calls.push(args); return before(...args); };
  warnings.push('mine');   // A copy, not what is remembered
  const again = SandboxManager.checkDependencies();
  childProcess.execFileSync = before;
  assert.deepStrictEqual([errors, again.errors, calls], [[], [], []]);
  assert.ok(!again.warnings.includes('mine'));
});

// Profile srt leaves HEAD, objects and refs, as srt does: what git would obey there is refused
test('a wrapped command plants no repository that git would obey', async () => {
  const dir = fresh();
  await SandboxManager.initialize(config([dir]));
  const line = await SandboxManager.wrapWithSandbox(
    'mkdir -p objects refs; echo ref: refs/heads/x >HEAD; echo fine >kept; ' +
    'printf "[core]\\n\\tfsmonitor=x\\n" >config; mkdir -p hooks; echo x >hooks/post-checkout');
  await run(`cd ${dir} && ${line}`);
  SandboxManager.cleanupAfterCommand();
  assert.deepStrictEqual(['config', 'hooks/post-checkout'].filter((name) =>
    fs.existsSync(path.join(dir, name))), []);
  assert.strictEqual(fs.readFileSync(`${dir}/kept`, 'utf8'), 'fine\n');
});
