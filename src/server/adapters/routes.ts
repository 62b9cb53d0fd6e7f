/** LoRA adapters that come and go, under vLLM's names, and llama-server's list of them. */
import type { Context, Hono } from 'hono';
import type { ServedAdapters } from '../../front/adapters/served-adapters.ts';
import { callerOf, requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { badRequest, modelNotFound } from '../errors.ts';
import { loadAdapterBody, unloadAdapterBody } from '../schemas/adapters.ts';
import { parseWith } from '../schemas/parse.ts';
import { allAdapters } from './find-adapter.ts';

export function adapterRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const bodyOf = (c: Context<ServerEnv>): Promise<unknown> =>
    context.bodies.read(c.env.incoming, callerOf(context, c).client);
  app.post('/v1/load_lora_adapter', requireAdmin(context), async (c) => {
    const { lora_name: name, lora_path: path } = parseWith(loadAdapterBody, await bodyOf(c));
    if (context.models.list().some((model) => model.name === name)) {
      throw badRequest(`There is a model \`${name}\` already.`, 'lora_name');
    }
    await adaptersOf(context).load(name, path);
    return c.text(`Success: LoRA adapter '${name}' added successfully.`);
  });
  app.post('/v1/unload_lora_adapter', requireAdmin(context), async (c) => {
    const { lora_name: name } = parseWith(unloadAdapterBody, await bodyOf(c));
    if (!adaptersOf(context).unload(name)) throw modelNotFound(name);
    return c.text(`Success: LoRA adapter '${name}' removed successfully.`);
  });
  app.get('/lora-adapters', (c) =>
    c.json(
      allAdapters(context).map(({ adapter: { name, engine } }, id) => ({
        id,
        path: name,
        scale: engine.scale,
      })),
    ),
  );
}

/** @throws ApiError 400 where no model takes any */
function adaptersOf({ models }: ServerContext): ServedAdapters {
  for (const { runtime } of models.loaded()) {
    if (runtime.kind === 'text' && runtime.adapters) return runtime.adapters;
  }
  throw badRequest('This server takes no LoRA adapters: it was started without --lora-dir.');
}
