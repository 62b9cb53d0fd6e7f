/** Commands that ask a running server: ps, stop. */
import { Command } from 'commander';
import { z } from 'zod';
import { toRegistryName } from '../server/ollama/names.ts';
import { addClientFlags, readClientFlags } from './flags/client-flags.ts';
import { ServerClient } from './server-client.ts';
import { formatBytes, formatTime, table } from './text-format.ts';

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

/** What is longer stays for ever. */
const FOR_EVER_MS = 100 * 365 * 86_400_000;

/** `chairlift ps`: what a server has in memory. */
export function psCommand(): Command {
  const command = new Command('ps').description('list the models that a server has in memory');
  return addClientFlags(command).action(async () => {
    const client = new ServerClient(readClientFlags(command));
    const { models } = loadedModels.parse(await client.get('api/ps'));
    const rows = models.map(({ name, size, context_length: context, expires_at: until }) => {
      const ms = new Date(until).getTime() - Date.now();
      const when = ms > FOR_EVER_MS ? 'for ever' : `${formatTime(ms)} from now`;
      return [name, formatBytes(size), String(context), when];
    });
    console.log(table(['NAME', 'SIZE', 'CONTEXT', 'UNTIL'], rows));
  });
}

/** `chairlift stop`: has a server unload a model. */
export function stopCommand(): Command {
  const command = new Command('stop')
    .description('unload a model from a server, once its requests have ended')
    .argument('<model>', 'its name there');
  return addClientFlags(command).action(async (model: string) => {
    const client = new ServerClient(readClientFlags(command));
    await client.post('models/unload', { model: toRegistryName(model, []) });
    console.log(`unloaded ${model}`);
  });
}
