/** Flags in the environment, and what is there that only looks like one. */
import { alikeNames } from '../front/registry/near-names.ts';
import { type FlagSpec, isSwitch, negativeVariableOf, variablesOf } from './flags/flag-spec.ts';
import { readGiven, readSwitch } from './flags/flag-value.ts';
import { keysOf } from './flag-sets.ts';
import { FLAGS, specOf } from './options.ts';
import { UsageError } from './usage-error.ts';

const PREFIX = 'CHAIRLIFT_';

/** Ours, but no flags: of kernels, of tests, and of what is deployed next to the server. */
export const OTHER_VARIABLES: readonly string[] = [
  'CHAIRLIFT_INSTRUCTIONS',
  'CHAIRLIFT_NATIVE_KERNELS',
  'CHAIRLIFT_IMAGE',
  'CHAIRLIFT_BIND',
  'CHAIRLIFT_OPERATORS',
  'CHAIRLIFT_ADMIN',
  'CHAIRLIFT_LONG_TESTS',
  'CHAIRLIFT_DOCS_PART',
  'CHAIRLIFT_THROWS',
  'CHAIRLIFT_THROWS_AT',
  'CHAIRLIFT_THROWS_PATIENCE_MS',
  'CHAIRLIFT_HOSTILE_ROWS',
  'CHAIRLIFT_TWO_KEYS_SECONDS',
  'CHAIRLIFT_FUZZ_URL',
  'CHAIRLIFT_FUZZ_RUNS',
  'CHAIRLIFT_FUZZ_HEADERS',
  'CHAIRLIFT_CONFORMANCE_URL',
  'CHAIRLIFT_CONFORMANCE_KEY',
  'CHAIRLIFT_MINILM',
];

export interface FromEnvironment {
  readonly value: unknown;
  readonly variable: string;
}

/**
 * Reads a flag's value from the environment; null if it is not set there.
 * @throws UsageError naming the variable
 */
export function readVariables(spec: FlagSpec, env: NodeJS.ProcessEnv): FromEnvironment | null {
  const [own, ...others] = variablesOf(spec);
  const found = own === undefined ? null : readVariable(spec, own, env);
  const negative = negativeVariableOf(spec);
  const off = env[negative];
  if (isSwitch(spec) && off !== undefined) {
    const value = !readSwitch(off, { source: 'environment', variable: negative });
    if (found !== null && found.value !== value) {
      throw new UsageError(`${found.variable} and ${negative} contradict each other`);
    }
    return { value, variable: negative };
  }
  if (found !== null) return found;
  for (const variable of others) {
    try {
      const other = readVariable(spec, variable, env);
      if (other !== null) return other;
    } catch (error) {
      if (!(error instanceof UsageError) || variable.startsWith(PREFIX)) throw error;
    }
  }
  return null;
}

/** One that is empty counts as not there, but for secrets, whose lack would open something. */
function readVariable(
  spec: FlagSpec,
  variable: string,
  env: NodeJS.ProcessEnv,
): FromEnvironment | null {
  const text = env[variable];
  if (text === undefined || isServiceLink(variable, text)) return null;
  if (text === '' && !isSwitch(spec) && spec.secret === undefined) return null;
  return { value: readGiven(spec, [text], { source: 'environment', variable }), variable };
}

/**
 * Whether Kubernetes sets a variable, for a Service called chairlift or chairlift-grpc, into every pod
 * of its namespace.
 */
export function isServiceLink(variable: string, text: string): boolean {
  return (
    /_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$/.test(variable) ||
    /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable) ||
    (variable.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//i.test(text))
  );
}

/** Warnings about variables that look like flags but are none. */
export function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const ours = Object.entries(env).filter(
    ([variable, text = '']) => variable.startsWith(PREFIX) && !isServiceLink(variable, text),
  );
  if (ours.length === 0) return [];
  const specs = keysOf(FLAGS).map((name) => specOf(name));
  const known = new Set([
    ...specs.flatMap((spec) => [...variablesOf(spec), negativeVariableOf(spec)]),
    ...OTHER_VARIABLES,
  ]);
  const names = specs.map((spec) => (variablesOf(spec)[0] ?? '').slice(PREFIX.length));
  return ours
    .filter(([variable]) => !known.has(variable))
    .map(([variable]) => {
      const near = alikeNames(variable.slice(PREFIX.length), names).slice(0, 3);
      const hint = near.map((name) => `${PREFIX}${name}`).join(' or ');
      const question = hint === '' ? '' : `; did you mean ${hint}?`;
      return `${variable} is no flag and has no effect${question}`;
    });
}
