/** Ollama's names of models: `summit:latest`, or `summit:2` for a version. */
import type { ModelInfo } from '../../front/registry/model-entry.ts';

/** `hf.co/owner/name` is what Ollama calls `owner/name` of the hub. */
const HUB = /^(?:hf:|hf\.co\/|huggingface\.co\/)/;
const TAGGED = /^(?<name>.+):(?<tag>[^:/]+)$/;

/** Registry's name for a model. @param all names with a tag of their own are taken as they are */
export function toRegistryName(name: string, all: readonly Pick<ModelInfo, 'name'>[]): string {
  if (all.some((info) => info.name === name)) return name;
  const bare = name.replace(HUB, '');
  const { name: base = bare, tag = 'latest' } = TAGGED.exec(bare)?.groups ?? {};
  if (tag === 'latest') return base;
  return /^\d+$/.test(tag) ? `${base}@${tag}` : bare;
}

/**
 * Ollama's name for a model: the tag is its version if it has several.
 * @param several names of models with several versions
 */
export function toOllamaName(
  { name, version }: Pick<ModelInfo, 'name' | 'version'>,
  several: ReadonlySet<string>,
): string {
  if (TAGGED.test(name)) return name;
  return `${name}:${several.has(name) ? version : 'latest'}`;
}

/** Types of weights in names of GGUF files, such as `Q4_K_M`: what a tag is for most of Ollama's users. */
const WEIGHTS = /^(?:i?q\d\w*|b?f16|f32|.+\.gguf)$/i;

/**
 * Hub reference that `hf:owner/name` or `hf.co/owner/name:revision` stands for; null for other names.
 */
export function toHubReference(name: string): string | null {
  if (!HUB.test(name)) return null;
  const bare = name.replace(HUB, '');
  const { name: id = bare, tag = 'latest' } = TAGGED.exec(bare)?.groups ?? {};
  if (tag === 'latest') return `hf:${id}`;
  return WEIGHTS.test(tag) ? `hf:${id}:${tag}` : `hf:${id}@${tag}`;
}
