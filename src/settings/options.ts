/**
 * The flags of all commands in one table: the command line, the environment, configuration files,
 * help, completion and /admin/config are made from it. Names follow vLLM's where one exists.
 */
import { ADAPTER_FLAGS } from './flags/adapter-flags.ts';
import { BATCHING_FLAGS } from './flags/batching-flags.ts';
import { BENCH_FLAGS, PROFILE_FLAGS } from './flags/bench-flags.ts';
import { CACHE_FLAGS } from './flags/cache-flags.ts';
import { CHAT_FLAGS } from './flags/chat-flags.ts';
import { CLIENT_FLAGS } from './flags/client-flags.ts';
import { DEVICE_FLAGS, ENGINE_FLAGS } from './flags/engine-flags.ts';
import { type FlagSpec, isSwitch, nameOf, type ValueOf } from './flags/flag-spec.ts';
import { KEY_FLAGS } from './flags/key-flags.ts';
import { MEDIA_FLAGS } from './flags/media-flags.ts';
import { MODEL_FLAGS } from './flags/model-flags.ts';
import { NETWORK_FLAGS } from './flags/network-flags.ts';
import { BATCH_FLAGS, DISTILL_FLAGS, OPTIMIZE_FLAGS } from './flags/offline-flags.ts';
import { OPERATING_FLAGS } from './flags/operating-flags.ts';
import { PLACE_FLAGS } from './flags/place-flags.ts';
import { PROBE_FLAGS } from './flags/probe-flags.ts';
import { REGISTRY_FLAGS } from './flags/registry-flags.ts';
import { REPLICA_FLAGS } from './flags/replica-flags.ts';
import { BUILD_FLAGS, EVAL_FLAGS, REPORT_FLAGS } from './flags/report-flags.ts';
import { REQUEST_FLAGS } from './flags/request-flags.ts';
import { SAMPLING_FLAGS } from './flags/sampling-flags.ts';
import { STEP_FLAGS } from './flags/step-flags.ts';
import { readSwitch, readTexts } from './flags/flag-value.ts';
import { UsageError } from './usage-error.ts';

export const FLAGS = {
  ...BATCH_FLAGS,
  ...DISTILL_FLAGS,
  ...OPTIMIZE_FLAGS,
  ...STEP_FLAGS,
  ...CHAT_FLAGS,
  ...CLIENT_FLAGS,
  ...BENCH_FLAGS,
  ...PROFILE_FLAGS,
  ...PROBE_FLAGS,
  ...EVAL_FLAGS,
  ...BUILD_FLAGS,
  ...REPORT_FLAGS,
  ...MODEL_FLAGS,
  ...SAMPLING_FLAGS,
  ...REGISTRY_FLAGS,
  ...ADAPTER_FLAGS,
  ...NETWORK_FLAGS,
  ...KEY_FLAGS,
  ...ENGINE_FLAGS,
  ...DEVICE_FLAGS,
  ...REQUEST_FLAGS,
  ...MEDIA_FLAGS,
  ...CACHE_FLAGS,
  ...BATCHING_FLAGS,
  ...REPLICA_FLAGS,
  ...PLACE_FLAGS,
  ...OPERATING_FLAGS,
};

export interface FlagGroup {
  readonly title: string;
  /** Section of this group and its neighbours in the short help. */
  readonly section: string;
  readonly flags: Readonly<Record<string, FlagSpec>>;
}

/** In the order of help. */
export const GROUPS: readonly FlagGroup[] = [
  { title: 'Files', section: 'Files', flags: BATCH_FLAGS },
  { title: 'Distillation', section: 'Distillation', flags: DISTILL_FLAGS },
  { title: 'Result', section: 'Result', flags: OPTIMIZE_FLAGS },
  { title: 'Steps, in their order', section: 'Steps, in their order', flags: STEP_FLAGS },
  { title: 'Answers', section: 'Answers', flags: CHAT_FLAGS },
  { title: 'Server', section: 'Server', flags: CLIENT_FLAGS },
  { title: 'Question', section: 'Question', flags: PROBE_FLAGS },
  { title: 'Load', section: 'Load', flags: { ...BENCH_FLAGS, ...PROFILE_FLAGS } },
  { title: 'Evaluation', section: 'Evaluation', flags: EVAL_FLAGS },
  { title: 'Build', section: 'Build', flags: BUILD_FLAGS },
  { title: 'Model', section: 'Model', flags: MODEL_FLAGS },
  { title: 'Sampling of requests that do not say', section: 'Model', flags: SAMPLING_FLAGS },
  { title: 'Many models', section: 'Model', flags: REGISTRY_FLAGS },
  { title: 'LoRA adapters', section: 'Model', flags: ADAPTER_FLAGS },
  { title: 'Network', section: 'Network and keys', flags: NETWORK_FLAGS },
  { title: 'Keys and rates', section: 'Network and keys', flags: KEY_FLAGS },
  { title: 'Memory and batching', section: 'Memory and speed', flags: ENGINE_FLAGS },
  { title: 'Device', section: 'Memory and speed', flags: DEVICE_FLAGS },
  { title: 'Requests', section: 'Requests', flags: REQUEST_FLAGS },
  { title: 'Images', section: 'Images', flags: MEDIA_FLAGS },
  { title: 'Caches', section: 'Requests', flags: CACHE_FLAGS },
  { title: 'Encoders and models without state', section: 'Requests', flags: BATCHING_FLAGS },
  { title: 'Replicas', section: 'Replicas', flags: REPLICA_FLAGS },
  { title: 'Output', section: 'Output', flags: REPORT_FLAGS },
  { title: 'Cache folder and hub', section: 'Operating', flags: PLACE_FLAGS },
  { title: 'Operating', section: 'Operating', flags: OPERATING_FLAGS },
];

export type OptionName = keyof typeof FLAGS;

export type Options<N extends OptionName = OptionName> = {
  readonly [K in N]: ValueOf<(typeof FLAGS)[K]>;
};

export function specOf(name: OptionName): FlagSpec {
  return FLAGS[name];
}

/**
 * The checked values of flags that a file gives for one model.
 * @param flags by their names without dashes
 * @param allowed those that a model may have of its own
 * @throws UsageError naming the flag that is unknown, or has a bad value
 */
export function readFlags<N extends OptionName>(
  flags: Readonly<Record<string, string | number | boolean>>,
  allowed: readonly N[],
): Partial<Options<N>> {
  const names = new Map(allowed.map((name) => [nameOf(FLAGS[name]), name]));
  const values = Object.entries(flags).map(([flag, value]) => {
    const [, bare = flag] = /^no-(.+)$/.exec(flag) ?? [];
    const name = names.get(flag) ?? names.get(bare);
    const spec = name && specOf(name);
    if (spec === undefined || (!names.has(flag) && !isSwitch(spec))) {
      throw new UsageError(`--${flag} cannot be set for a single model`);
    }
    const place = { source: 'flag', flag: `--${flag}` } as const;
    if (!isSwitch(spec)) return [name, readTexts(spec, [String(value)], place)] as const;
    return [name, readSwitch(String(value), place) === names.has(flag)] as const;
  });
  // Each value has gone through its flag's schema.
  return Object.fromEntries(values) as Partial<Options<N>>;
}
