// SPDX-License-Identifier: Apache-2.0
// The SandboxManager that users of @anthropic-ai/sandbox-runtime know, on cloche
//
//	const { SandboxManager } = require('cloche/srt');
//
// There are no proxies of ours in this process and nothing to start: a wrapped
// command brings its own sandbox, and follows updateConfig() while it runs.

'use strict';

const childProcess = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');
const { native, failure, program } = require('./native');
const { own } = require('./own');
const settings = require('./settings');
const { Place } = require('./srt-place');
const { SandboxViolationStore, toViolation } = require('./srt-store');

const LISTS = { network: ['allowedDomains', 'deniedDomains'],
                filesystem: ['denyRead', 'allowRead', 'allowWrite', 'denyWrite'] };

const COMMAND_ID_MIN = 22;   // So that a command cannot guess another's
const CUSTOMS_MAX = 512;     // Settings of single commands that follow updateConfig()

class SandboxInitializeConflictError extends Error {
  constructor() {
    super('SandboxManager is already initialized with another configuration; call reset() first');
    this.name = 'SandboxInitializeConflictError';
    this.code = 'initialize_conflict';
  }
}

/** What srt throws when a command cannot be wrapped */
class LinuxSandboxProfileError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'LinuxSandboxProfileError';
    this.code = code;
  }
}

// What the manager knows between initialize() and reset(); customs holds how
// each settings file of one command follows from the manager's
let state = null;
const commandLists = new Map();   // commandId -> {allowedDomains}
const store = new SandboxViolationStore();

const need = () => {
  if (!state) throw new Error('SandboxManager is not initialized; call initialize() first');
  return state;
};

// A filter that is not applied would be worse than no filter
function refuseUnknown(config) {
  if (typeof own(config)?.network?.filterRequest === 'function')
    throw new Error('network.filterRequest is not supported by cloche');
}

/** cloche's own opinion of a configuration; throws with its words */
function check(file) {
  try {
    childProcess.execFileSync(program, ['policy', 'check', file],
      { __proto__: null, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const said = `${error.stdout ?? ''}${error.stderr ?? ''}`.trim();
    throw new Error(`Invalid sandbox configuration: ${said || error.message}`);
  }
}

// What one command brings takes the place of the manager's: each list that it
// names, credentials, and whether there are file rules at all. Directories for git
// are added; so are hosts of one command, unless the list is strict.
function merge(config, ofCommand, id) {
  const merged = own(config), custom = own(ofCommand);
  for (const name of ['credentials', 'allowNestedUserNamespaces'])
    if (custom?.[name] !== undefined) merged[name] = custom[name];
  if (custom?.filesystem)
    merged.filesystem = { __proto__: null, ...merged.filesystem,
      disabled: custom.filesystem.disabled ?? false };
  if (custom?.git?.safeDirectories)
    merged.git = { __proto__: null, ...merged.git,
      safeDirectories: [...(merged.git?.safeDirectories ?? []), ...custom.git.safeDirectories] };
  for (const [group, names] of Object.entries(LISTS)) {
    for (const name of names) {
      if (custom?.[group]?.[name] !== undefined)
        merged[group] = { __proto__: null, ...merged[group], [name]: custom[group][name] };
    }
  }
  const more = commandLists.get(id)?.allowedDomains;
  if (more && !merged.network?.strictAllowlist)
    merged.network = { __proto__: null, ...merged.network,
      allowedDomains: [...(merged.network?.allowedDomains ?? []), ...more] };
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
    state = { config, askCallback, place, socket, customs: new Map(), count: 0 };
  } catch (error) {
    place.remove();
    throw error;
  }
}

// The options of `cloche run` for one command
function optionsFor(command, binShell, custom, given) {
  const { config, place, socket, customs } = need();
  const ids = own(given);
  const key = ids?.commandId ?? ids?.commandText ?? command;
  let file = path.join(place.dir, 'settings.json');
  if (command.includes('\0'))
    throw new LinuxSandboxProfileError('nul_in_path', 'the command has a NUL in it');
  if (custom || ids?.commandId) {
    refuseUnknown(custom);
    const name = `custom-${++state.count}.json`;
    file = place.settings(name, merge(config, custom, ids?.commandId));
    if (custom) check(file);
    customs.set(name, { custom, id: ids?.commandId });
    if (customs.size > CUSTOMS_MAX) {
      const [oldest] = customs.keys();
      customs.delete(oldest);
      fs.rmSync(path.join(place.dir, oldest), { force: true });
    }
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

async function wrapWithSandbox(command, binShell, customConfig, abortSignal, ids) {
  abortSignal?.throwIfAborted();
  return native.wrap({ program, policy: null,
    options: optionsFor(command, binShell, customConfig, ids) }, []);
}

// The directory is that of the process that spawns it
async function wrapWithSandboxArgv(command, binShell, customConfig, abortSignal, _cwd, ids) {
  abortSignal?.throwIfAborted();
  const argv = [program, 'run'];
  for (const [name, value] of optionsFor(command, binShell, customConfig, ids))
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
  rewriteCustoms(() => true);
}

function rewriteCustoms(concerns) {
  for (const [name, { custom, id }] of state?.customs ?? []) {
    if (concerns(id)) state.place.settings(name, merge(state.config, custom, id));
  }
}

/** More hosts for the command that is wrapped with this commandId */
function registerCommandNetworkLists(id, lists) {
  if (typeof id !== 'string' || id.length < COMMAND_ID_MIN)
    throw new Error(`a commandId has at least ${COMMAND_ID_MIN} characters`);
  commandLists.set(id, own(lists));
  rewriteCustoms((other) => other === id);
}

function unregisterCommandNetworkLists(id) {
  commandLists.delete(id);
  rewriteCustoms((other) => other === id);
}

async function reset() {
  state?.place.remove();
  state = null;
  commandLists.clear();
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

const { isSupportedPlatform } = settings;
let dependencies = null;   // What was found, once nothing was missing

function checkDependencies() {
  if (!isSupportedPlatform())
    return { errors: [failure?.message ?? 'this platform is not supported'], warnings: [] };
  if (dependencies) return { errors: [], warnings: [...dependencies.warnings] };
  const found = askDoctor();
  if (!found.errors.length) dependencies = { warnings: [...found.warnings] };
  return found;
}

function askDoctor() {
  try {
    const said = childProcess.execFileSync(program, ['doctor', '--json'],
      { __proto__: null, stdio: ['ignore', 'pipe', 'ignore'] });
    return problemsOf(JSON.parse(said));
  } catch (error) {
    return error.stdout?.length ? problemsOf(JSON.parse(error.stdout))
      : { errors: [`cloche cannot be run: ${error.message}`], warnings: [] };
  }
}

function problemsOf({ tier, probes = [] }) {
  const missing = probes.filter((p) => !p.ok && p.why).map((p) => `${p.title}: ${p.why}`);
  if (tier === 'none') return { errors: missing.length ? missing : ['no tier can be had here'], warnings: [] };
  return { errors: [], warnings: tier === 'full' ? [] : missing };
}

const config = () => state?.config;
const defaultWritePaths = () => ['/dev/stdout', '/dev/stderr', '/dev/null', '/dev/tty',
  '/dev/dtracehelper', '/dev/autofs_nowait', '/tmp/claude', '/private/tmp/claude',
  path.join(os.homedir(), '.npm/_logs'), path.join(os.homedir(), '.claude/debug')];

// The part of a zod schema that embedders use, checked by cloche
const SandboxRuntimeConfigSchema = {
  parse(value) {
    const place = new Place();
    try {
      check(place.settings('trial.json', value));
      return value;
    } finally {
      place.remove();
    }
  },
  safeParse(value) {
    try {
      return { success: true, data: this.parse(value) };
    } catch (error) {
      return { success: false, error };
    }
  },
};

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
  registerCommandNetworkLists,
  unregisterCommandNetworkLists,
  askCallbackDenyReason: true,
  // What a command planted, its own cloche removed when it ended
  cleanupAfterCommand: () => state?.place.catchUp(),
  addToExcludedCommands: (command) => settings.addToExcludedCommands(command),
  removeSandboxViolationTags: settings.removeSandboxViolationTags,
  waitForNetworkInitialization: async () => state !== null,
  getSandboxViolationStore,
  annotateStderrWithSandboxFailures,
  getConfig: config,
  getFsReadConfig: () => ({ denyOnly: config()?.filesystem?.denyRead ?? [],
                            allowWithinDeny: config()?.filesystem?.allowRead ?? [],
                            unlistableDenyDirs: [] }),
  getFsWriteConfig: () => ({ allowOnly: [...defaultWritePaths(), ...(config()?.filesystem?.allowWrite ?? [])],
                             denyWithinAllow: config()?.filesystem?.denyWrite ?? [] }),
  getNetworkRestrictionConfig: () => ({
    ...(state && { allowedHosts: config().network?.allowedDomains ?? [] }),
    ...(config()?.network?.deniedDomains?.length && { deniedHosts: config().network.deniedDomains }),
  }),
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
                   LinuxSandboxProfileError, SandboxRuntimeConfigSchema,
                   convertToSandboxRuntimeConfig: settings.convertToSandboxRuntimeConfig,
                   removeSandboxViolationTags: settings.removeSandboxViolationTags,
                   getDefaultWritePaths: defaultWritePaths };
