/** chairlift.json: what an operator says about a model of a repository, or about all of them. */
import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';
import type { Aliases } from './aliases.ts';
import { tritonConfigSchema } from '../tensors/triton-config.ts';
import { imageConfigSchema } from '../images/image-config.ts';
import { parseDuration } from './duration.ts';

export const CONFIG_FILE = 'chairlift.json';

const duration = z.union([z.string(), z.number()]).transform((value, context) => {
  const ms = parseDuration(value);
  if (ms !== null) return ms;
  context.addIssue({ code: 'custom', message: 'expected a duration such as "5m", or seconds' });
  return z.NEVER;
});

/** Triton's: the newest `latest`, all of them, or those that are named. */
const versionPolicy = z.union([
  z.literal('all'),
  z.strictObject({ latest: z.int().min(1) }),
  z.strictObject({ specific: z.array(z.coerce.string()).min(1) }),
]);

const modelConfig = z.strictObject({
  /** Value for `--model`, for a folder that has no model of its own. */
  model: z.string().min(1).optional(),
  versionPolicy: versionPolicy.default({ latest: 1 }),
  instances: z.int().min(1).max(64).default(1),
  aliases: z.array(z.string().min(1).max(128)).max(64).default([]),
  preload: z.boolean().default(false),
  keepAlive: duration.optional(),
  /** Flags of `serve` for this model, by their names without dashes in front. */
  flags: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  /** How requests to a model without state are batched. */
  ...tritonConfigSchema.shape,
  /** How a model of tensors takes images. */
  image: imageConfigSchema.optional(),
});

const repositoryConfig = z.strictObject({
  aliases: z
    .record(z.string().min(1).max(128), z.record(z.string(), z.number().positive()))
    .default({}),
});

export type ModelConfig = z.output<typeof modelConfig>;
export type VersionPolicy = ModelConfig['versionPolicy'];

/** @throws Error that says what is wrong */
export function parseModelConfig(json: unknown): ModelConfig {
  return check(modelConfig, json);
}

/** @throws Error that says what is wrong */
export function parseRepositoryConfig(json: unknown): Aliases {
  const { aliases } = check(repositoryConfig, json);
  return new Map(
    Object.entries(aliases).map(([alias, targets]) => [alias, new Map(Object.entries(targets))]),
  );
}

/** @param versions whole numbers as text */
export function servedVersions(
  policy: VersionPolicy,
  versions: readonly string[],
): readonly string[] {
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  if (policy === 'all') return newestFirst;
  if ('latest' in policy) return newestFirst.slice(0, policy.latest);
  return newestFirst.filter((version) => policy.specific.includes(version));
}

function check<T>(schema: z.ZodType<T>, json: unknown): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  throw new Error(`${CONFIG_FILE}: ${explainZod(result.error)}`);
}
