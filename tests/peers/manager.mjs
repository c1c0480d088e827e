// SPDX-License-Identifier: Apache-2.0
// tests/peers/manager.mjs MODULE AWAY - an embedder of sandbox-runtime
//
// The only thing that differs between srt and us is the import. Prints what
// came of each call as JSON.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

process.env.TOKEN = 'secret';
const { SandboxManager } = await import(process.argv[2]);
const away = process.argv[3];
const found = {};
const asked = [];

const config = {
  network: { allowedDomains: ['yes.invalid'], deniedDomains: ['no.invalid'] },
  filesystem: { denyRead: [`${away}/secret`], allowWrite: ['.'], denyWrite: ['kept'] },
};

async function run(name, command, ...more) {
  const line = await SandboxManager.wrapWithSandbox(command, ...more);
  await end(name, spawn(line, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] }));
}

async function end(name, child) {
  let out = '';
  child.stdout.on('data', (data) => { out += data; });
  child.stderr.resume();
  const code = await new Promise((resolve) => child.on('close', resolve));
  SandboxManager.cleanupAfterCommand();
  found[name] = { code, out };
}

const get = (host) => `curl -s -o /dev/null -w '%{http_code}' http://${host}/`;

await SandboxManager.initialize(config, async ({ host, port }) => {
  asked.push(`${host}:${port}`);
  return false;
});
found.enabled = SandboxManager.isSandboxingEnabled();
found.supported = SandboxManager.isSupportedPlatform();
found.reads = SandboxManager.getFsReadConfig();
found.writes = SandboxManager.getFsWriteConfig();
found.hosts = SandboxManager.getNetworkRestrictionConfig();
found.config = SandboxManager.getConfig();

await run('output', 'echo hi; echo there');
await run('status', 'exit 7');
await run('signal', 'kill -TERM $$');
await run('write', 'echo x >ok && cat ok');
await run('refused write', `echo x >${away}/no || echo refused`);
await run('kept', 'echo x >kept 2>/dev/null || echo refused');
await run('secret', `cat ${away}/secret 2>/dev/null || echo refused`);
await run('unknown host', get('unknown.invalid'));
await run('denied host', get('no.invalid'));
await run('shell', 'echo $0 | grep -o bash', 'bash');
await run('custom', `echo x >${away}/custom && echo done`, undefined,
  { filesystem: { allowWrite: [away], denyRead: [], denyWrite: [] } });
await run('custom credentials', 'echo "[$TOKEN]"', undefined,
  { credentials: { envVars: [{ name: 'TOKEN', mode: 'deny' }] } });
await run('custom git', 'env | grep -c "=/some/where$"', undefined,
  { git: { safeDirectories: ['/some/where'] } });
await run('custom namespaces', 'unshare -U true && echo nested', undefined,
  { allowNestedUserNamespaces: true });
const { argv, env } = await SandboxManager.wrapWithSandboxArgv('basename $0; exit 3',
  undefined, undefined, undefined, process.cwd(), { commandId: 'x'.repeat(22) });
await end('argv', spawn(argv[0], argv.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'] }));
found.asked = asked;
found.there = ['no', 'custom'].map((name) => existsSync(`${away}/${name}`));
found.plain = SandboxManager.annotateStderrWithSandboxFailures('echo hi; echo there', 'text');

SandboxManager.updateConfig({ ...config, network: { allowedDomains: [], deniedDomains: ['unknown.invalid'] } });
await run('after an update', get('unknown.invalid'));
found.asked_again = [...asked];
SandboxManager.updateConfig({ ...config, filesystem: { ...config.filesystem, disabled: true } });
await run('no file rules', `echo x >${away}/free && echo done`);
await run('custom file rules', `echo x >${away}/held || echo refused`, undefined,
  { filesystem: { allowWrite: [], denyRead: [], denyWrite: [] } });
await SandboxManager.reset();
process.stdout.write(JSON.stringify(found));
process.exit(0);
