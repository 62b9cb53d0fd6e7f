/** LoRA adapters that lie elsewhere. */
import { join } from 'node:path';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { parseAdapterConfig } from '../adapters/adapter-config.ts';
import { ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE } from '../adapters/lora-adapter.ts';
import { readJson } from '../huggingface/json-file.ts';
import { ModelError } from '../model-error.ts';
import {
  filesNamed,
  type PullFilesOptions,
  namesOf,
  pullFiles,
  requireAtMost,
  requireReadable,
} from './pull-files.ts';
import type { Remote } from './remote.ts';

/**
 * Downloads an adapter as PEFT stores it, or finds it downloaded at the same commit.
 * @returns its folder
 * @throws {ModelError} when that is not possible, saying why
 */
export async function pullAdapter(remote: Remote, options: PullFilesOptions): Promise<string> {
  const { id, file } = remote;
  if (file !== null) {
    throw new ModelError(
      `${id}: the name of an adapter has no file: expected hf:owner/name[@revision] or s3://bucket/prefix`,
    );
  }
  const pulled = await pullFiles(remote, options, async ({ files, folder, fetchAll }) => {
    const [configs, weights] = [ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE].map((name) => {
      const found = filesNamed([name], files);
      if (found.length > 0) return found;
      throw new ModelError(
        `${id} has no ${name}, as LoRA adapters of PEFT have, only ` +
          namesOf(files).slice(0, 8).join(', '),
      );
    });
    requireReadable(configs ?? [], id);
    requireAtMost(weights ?? [], id, MODEL_LIMITS.adapterBytes);
    // One that can't be served is refused before its weights are downloaded.
    await fetchAll(configs ?? []);
    parseAdapterConfig(await readJson(join(folder, ADAPTER_CONFIG_FILE)), id);
    await fetchAll(weights ?? []);
  });
  return pulled.folder;
}
