/** Commands that ask a running server: ps, stop. */
import { z } from 'zod';
import { toRegistryName } from '../../server/ollama/names.ts';
import { serverAccess } from './server-access.ts';
import { ServerClient } from './server-client.ts';
import type { Settings } from '../../settings/settings.ts';
import { formatBytes, formatTime, table } from '../terminal/text-format.ts';

const loadedModels = z.object({
  models: z.array(
    z.object({
      name: z.string(),
      size: z.number(),
      context_length: z.number(),
      expires_at: z.string(),
    }),
  ),
});

/** A longer stay is one without an end. */
const FOREVER_MS = 100 * 365 * 86_400_000;

/** `chairlift ps`: what a server has in memory. */
export async function ps({ options }: Settings<'ps'>): Promise<void> {
  const client = new ServerClient(await serverAccess(options));
  const { models } = await client.get('api/ps', loadedModels);
  const rows = models.map(({ name, size, context_length: context, expires_at: until }) => {
    const ms = new Date(until).getTime() - Date.now();
    const when = ms > FOREVER_MS ? 'forever' : `${formatTime(ms)} from now`;
    return [name, formatBytes(size), String(context), when];
  });
  console.log(table(['NAME', 'SIZE', 'CONTEXT', 'UNTIL'], rows));
}

/** `chairlift stop`: has a server unload a model. */
export async function stop({ operands, options }: Settings<'stop'>): Promise<void> {
  const [model = ''] = operands;
  const client = new ServerClient(await serverAccess(options));
  await client.post('models/unload', { model: toRegistryName(model, []) });
  console.log(`unloaded ${model}`);
}
