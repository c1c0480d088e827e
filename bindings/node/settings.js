// SPDX-License-Identifier: Apache-2.0
// Settings, refusals and secrets of this machine, as `cloche` has them: each function
// is a verb, and throws with its words

'use strict';

const { execFileSync } = require('node:child_process');
const os = require('node:os');
const path = require('node:path');
const { own } = require('./own');
const { failure, program } = require('./native');

const OUTPUT_MAX = 64 << 20;   // Bytes of one answer: all that is stored fits in

function ask(args, { cwd, input } = {}) {
  if (failure) throw failure;
  try {
    return execFileSync(program, args, { __proto__: null, cwd, input: input ?? '',
      encoding: 'utf8', maxBuffer: OUTPUT_MAX, stdio: ['pipe', 'pipe', 'pipe'] });
  } catch (error) {
    const said = String(error.stderr ?? '').trim().replace(/^cloche: /, '');
    throw new Error(said || error.message);
  }
}

// An option's value cannot become another option
const flag = (name, value) => value === undefined ? [] : [`--${name}=${value}`];
const scoped = (given) => flag('scope', own(given)?.scope);
const where = (given) => ({ cwd: own(given)?.cwd });

/** False where the package only loads: another system, the first WSL, another processor */
const isSupportedPlatform = () => failure === null && !/Microsoft/.test(os.release());

/** 'disabled', 'regular' or 'auto-allow': what agents' hooks go by */
const getMode = (options) =>
  JSON.parse(ask(['policy', 'mode', '--json'], where(options))).mode;
const setMode = (mode, options) =>
  void ask(['policy', 'mode', ...scoped(options), '--', String(mode)], where(options));

const getExcludedCommands = (options) =>
  JSON.parse(ask(['policy', 'show', '--json'], where(options)))
    .settings.excludedCommands.entries.map((entry) => entry.value);
const addToExcludedCommands = (pattern, options) =>
  void ask(['policy', 'exclude', '--', String(pattern)], where(options));

/** Records of what was refused on this machine, oldest first */
const getViolations = (options) => JSON.parse(ask(['violations', 'list', '--json',
  ...flag('run', own(options)?.run), ...flag('since', own(options)?.since),
  ...flag('kind', own(options)?.kind)])).violations;

/** Text of a command without the blocks that were added for a model */
const removeSandboxViolationTags = (text) =>
  String(text).replace(/\n?<sandbox_violations>[\s\S]*?<\/sandbox_violations>\n?/g, '');

/** Names only: a value is for cloche to put into requests (--secret) */
const secrets = {
  list: () => ask(['secret', 'list']).split('\n').filter(Boolean),
  set: (name, value) => void ask(['secret', 'set', '--', String(name)], { input: String(value) }),
  delete: (name) => void ask(['secret', 'delete', '--', String(name)]),
};

// "Edit(//srv/**)" as {tool, text}; null for anything else
function rule(text) {
  const found = /^(\w+)\((.*)\)$/s.exec(String(text));
  return found && { tool: found[1], text: found[2] };
}

// A path of a permission rule: // is absolute, / is below the settings, ~ the home
function rulePath(text, root, cwd) {
  if (text.startsWith('//')) return text.slice(1);
  if (text.startsWith('/')) return path.join(root, text);
  return text.startsWith('~') ? text : path.join(cwd, text);
}

/**
 * The settings of Claude Code as a configuration of sandbox-runtime. Rules that
 * sandbox-runtime has no word for are left out; for those give the settings themselves
 * to a Sandbox.
 */
function convertToSandboxRuntimeConfig(settings, options) {
  const { permissions = {}, sandbox = {} } = own(settings ?? {});
  const cwd = own(options)?.cwd ?? process.cwd(), root = own(options)?.root ?? cwd;
  const { network = {}, filesystem = {} } = sandbox;
  const of = (list, tool, make) => (permissions[list] ?? []).map(rule)
    .filter((r) => r?.tool === tool).map((r) => make(r.text)).filter(Boolean);
  const host = (text) => text.startsWith('domain:') ? text.slice('domain:'.length) : null;
  const file = (text) => rulePath(text, root, cwd);
  const once = (...lists) => [...new Set(lists.flat())];
  const rest = {};
  for (const name of ['ignoreViolations', 'enableWeakerNestedSandbox'])
    if (sandbox[name] !== undefined) rest[name] = sandbox[name];
  const net = {};
  for (const name of ['allowUnixSockets', 'allowAllUnixSockets', 'allowLocalBinding'])
    if (network[name] !== undefined) net[name] = network[name];
  return {
    network: { ...net,
      allowedDomains: once(network.allowedDomains ?? [], of('allow', 'WebFetch', host)),
      deniedDomains: once(network.deniedDomains ?? [], of('deny', 'WebFetch', host)) },
    filesystem: {
      denyRead: once(filesystem.denyRead ?? [], of('deny', 'Read', file)),
      allowRead: once(filesystem.allowRead ?? []),
      allowWrite: once('.', permissions.additionalDirectories ?? [],
        filesystem.allowWrite ?? [], of('allow', 'Edit', file)),
      denyWrite: once(filesystem.denyWrite ?? [], of('deny', 'Edit', file)) },
    ...rest,
  };
}

module.exports = { ask, isSupportedPlatform, getMode, setMode, getExcludedCommands,
  addToExcludedCommands, getViolations, removeSandboxViolationTags, secrets,
  convertToSandboxRuntimeConfig };
