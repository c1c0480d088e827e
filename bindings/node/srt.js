// SPDX-License-Identifier: Apache-2.0
// The SandboxManager that users of @anthropic-ai/sandbox-runtime know, on cloche
//
//	const { SandboxManager } = require('cloche/srt');
//
// There are no proxies of ours in this process and nothing to start: a wrapped
// command brings its own sandbox, and follows updateConfig() while it runs.

'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');
const { native, program } = require('./native');
const { Place } = require('./srt-place');
const { SandboxViolationStore, toViolation } = require('./srt-store');

const LISTS = { network: ['allowedDomains', 'deniedDomains'],
                filesystem: ['denyRead', 'allowRead', 'allowWrite', 'denyWrite'] };

class SandboxInitializeConflictError extends Error {
  constructor() {
    super('SandboxManager is already initialized with another configuration; call reset() first');
    this.name = 'SandboxInitializeConflictError';
    this.code = 'initialize_conflict';
  }
}

// What the manager knows between initialize() and reset()
let state = null;
const store = new SandboxViolationStore();

const need = () => {
  if (!state) throw new Error('SandboxManager is not initialized; call initialize() first');
  return state;
};

// A filter that nobody applies would be worse than none
function refuseUnknown(config) {
  if (typeof config?.network?.filterRequest === 'function')
    throw new Error('network.filterRequest is not supported by cloche');
}

/** cloche's own opinion of a configuration; throws with its words */
function check(file) {
  try {
    execFileSync(program, ['policy', 'check', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const said = `${error.stdout ?? ''}${error.stderr ?? ''}`.trim();
    throw new Error(`Invalid sandbox configuration: ${said || error.message}`);
  }
}

// Each list that is named takes the place of the manager's
function merge(config, custom) {
  const merged = structuredClone(JSON.parse(JSON.stringify(config)));
  for (const [group, names] of Object.entries(LISTS)) {
    for (const name of names) {
      if (custom?.[group]?.[name] !== undefined)
        merged[group] = { ...merged[group], [name]: custom[group][name] };
    }
  }
  return merged;
}

async function initialize(config, askCallback, _enableLogMonitor = false) {
  if (state) {
    if (isDeepStrictEqual(state.config, config) && state.askCallback === askCallback) return;
    throw new SandboxInitializeConflictError();
  }
  const { errors } = checkDependencies();
  if (errors.length) throw new Error(`Sandbox dependencies not available: ${errors.join(', ')}`);
  refuseUnknown(config);
  const place = new Place();
  try {
    check(place.settings('settings.json', config));
    const socket = askCallback ? await place.listen((q) => askCallback(q)) : null;
    state = { config, askCallback, place, socket, customs: new Map() };
  } catch (error) {
    place.remove();
    throw error;
  }
}

// The options of `cloche run` for one command
function optionsFor(command, binShell, custom, key) {
  const { config, place, socket, customs } = need();
  let file = path.join(place.dir, 'settings.json');
  if (custom) {
    refuseUnknown(custom);
    const name = `custom-${customs.size + 1}.json`;
    file = place.settings(name, merge(config, custom));
    check(file);
    customs.set(name, custom);
  }
  const options = [
    ['profile', 'srt'], ['no-settings', null], ['settings', file],
    ['events', place.events((record) => store.addViolation(toViolation(record, key)))],
    ['annotate', 'never'], ['deny-read', place.dir], ['deny-write', place.dir],
  ];
  if (socket) options.push(['ask', null], ['control-fd', socket]);
  if (binShell) options.push(['shell', findShell(binShell)]);
  return [...options, ['command', command]];
}

function findShell(name) {
  if (path.isAbsolute(name)) return name;
  for (const dir of (process.env.PATH ?? '').split(':')) {
    const file = path.join(dir, name);
    if (path.isAbsolute(file) && fs.existsSync(file)) return file;
  }
  throw new Error(`Shell '${name}' not found in PATH`);
}

async function wrapWithSandbox(command, binShell, customConfig, abortSignal, ids = {}) {
  abortSignal?.throwIfAborted();
  const key = ids.commandId ?? ids.commandText ?? command;
  return native.wrap({ program, policy: null,
    options: optionsFor(command, binShell, customConfig, key) }, []);
}

async function wrapWithSandboxArgv(command, binShell, customConfig, abortSignal, ids = {}) {
  abortSignal?.throwIfAborted();
  const key = ids.commandId ?? ids.commandText ?? command;
  const argv = [program, 'run'];
  for (const [name, value] of optionsFor(command, binShell, customConfig, key))
    argv.push(`--${name}`, ...(value === null ? [] : [value]));
  return { argv, env: { ...process.env } };
}

/** Also for the commands that run now; a mistake throws and changes nothing */
function updateConfig(config) {
  const s = need();
  refuseUnknown(config);
  const trial = s.place.settings('trial.json', config);
  check(trial);
  fs.rmSync(trial);
  s.config = config;
  s.place.settings('settings.json', config);
  for (const [name, custom] of s.customs) s.place.settings(name, merge(config, custom));
}

async function reset() {
  state?.place.remove();
  state = null;
  store.clear();
}

function getSandboxViolationStore() {
  state?.place.catchUp();
  return store;
}

function annotateStderrWithSandboxFailures(command, stderr) {
  const found = getSandboxViolationStore().getViolationsForCommand(command);
  if (!found.length) return stderr;
  const lines = found.map((v) => v.line.replace(/[<>]/g, '?')).join('\n');
  return `${stderr}\n<sandbox_violations>\n${lines}\n</sandbox_violations>`;
}

const isSupportedPlatform = () => process.platform === 'linux' &&
  !/Microsoft/.test(os.release());   // The first WSL; the second says microsoft

function checkDependencies() {
  if (!isSupportedPlatform())
    return { errors: ['this platform is not supported'], warnings: [] };
  try {
    const said = execFileSync(program, ['doctor', '--json'], { stdio: ['ignore', 'pipe', 'ignore'] });
    return judge(JSON.parse(said));
  } catch (error) {
    return error.stdout?.length ? judge(JSON.parse(error.stdout))
      : { errors: [`cloche cannot be run: ${error.message}`], warnings: [] };
  }
}

function judge({ tier, probes = [] }) {
  const missing = probes.filter((p) => !p.ok && p.why).map((p) => `${p.title}: ${p.why}`);
  if (tier === 'none') return { errors: missing.length ? missing : ['no tier can be had here'], warnings: [] };
  return { errors: [], warnings: tier === 'full' ? [] : missing };
}

const config = () => state?.config;
const defaultWritePaths = () => ['/dev/stdout', '/dev/stderr', '/dev/null', '/dev/tty'];

const SandboxManager = {
  initialize,
  isSupportedPlatform,
  isSandboxingEnabled: () => state !== null,
  checkDependencies,
  checkDependenciesAsync: async () => checkDependencies(),
  wrapWithSandbox,
  wrapWithSandboxArgv,
  updateConfig,
  reset,
  cleanupAfterCommand: () => state?.place.catchUp(),
  waitForNetworkInitialization: async () => state !== null,
  getSandboxViolationStore,
  annotateStderrWithSandboxFailures,
  getConfig: config,
  getFsReadConfig: () => ({ denyOnly: config()?.filesystem?.denyRead ?? [],
                            allowWithinDeny: config()?.filesystem?.allowRead ?? [] }),
  getFsWriteConfig: () => ({ allowOnly: [...defaultWritePaths(), ...(config()?.filesystem?.allowWrite ?? [])],
                             denyWithinAllow: config()?.filesystem?.denyWrite ?? [] }),
  getNetworkRestrictionConfig: () => ({ allowedHosts: config()?.network?.allowedDomains ?? [],
                                        deniedHosts: config()?.network?.deniedDomains ?? [] }),
  getAllowUnixSockets: () => config()?.network?.allowUnixSockets,
  getAllowLocalBinding: () => config()?.network?.allowLocalBinding,
  getAllowMachLookup: () => config()?.network?.allowMachLookup,
  getIgnoreViolations: () => config()?.ignoreViolations,
  getEnableWeakerNestedSandbox: () => config()?.enableWeakerNestedSandbox,
  // Nothing of ours listens on the host
  getProxyPort: () => undefined,
  getSocksProxyPort: () => undefined,
  getProxyAuthToken: () => undefined,
  getLinuxHttpSocketPath: () => undefined,
  getLinuxSocksSocketPath: () => undefined,
  getMitmCA: () => undefined,
  // Every pattern is enforced, or an error
  getLinuxGlobPatternWarnings: () => [],
};

module.exports = { SandboxManager, SandboxViolationStore, SandboxInitializeConflictError,
                   getDefaultWritePaths: defaultWritePaths };
