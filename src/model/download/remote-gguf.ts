import { ModelError } from '../model-error.ts';
import { exportVariants, GENAI_CONFIG } from '../export/export-folder.ts';
import { ggufModels, pickGguf } from '../gguf/gguf-names.ts';
import { SHARD_INDEX, SINGLE_FILE } from '../huggingface/safetensors.ts';
import type { Remote } from './remote.ts';

/** Models listed in an error. */
const MAX_LISTED = 16;

/**
 * Which GGUF file of a model's is served.
 * @param names of the model's files
 * @returns null where the folder as a whole is the model: nobody asked for a file, and there are
 *   safetensors weights or an export
 * @throws {ModelError} when there is none that was asked for
 */
export function remoteGguf(names: readonly string[], { id, file }: Remote): string | null {
  const hasConfig = names.includes('config.json');
  const hasWeights = hasConfig && (names.includes(SINGLE_FILE) || names.includes(SHARD_INDEX));
  const hasExport = exportVariants(names).length > 0 || names.includes(GENAI_CONFIG);
  if (file === null && (hasWeights || hasExport)) return null;
  const picked = pickGguf(names, file);
  if (picked !== null || file === null) return picked;
  const models = ggufModels(names);
  const listed = models.slice(0, MAX_LISTED).join(', ') || 'none';
  throw new ModelError(
    `${id} has no GGUF file for "${file}" (it has ${listed}${models.length > MAX_LISTED ? ', ...' : ''})`,
  );
}
