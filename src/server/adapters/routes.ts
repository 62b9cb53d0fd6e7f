/** LoRA adapters that come and go, under vLLM's names, and llama-server's list of them. */
import type { Context, Hono } from 'hono';
import { callerOf, requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { type ApiError, badRequest, modelNotFound } from '../errors.ts';
import { acquireKind } from '../model-access.ts';
import { loadAdapterBody, unloadAdapterBody } from '../schemas/adapters.ts';
import { parseWith } from '../schemas/parse.ts';
import { allAdapters } from './find-adapter.ts';

export function adapterRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const bodyOf = (c: Context<ServerEnv>): Promise<unknown> =>
    context.bodies.read(c.env.incoming, callerOf(context, c).client);
  app.post('/v1/load_lora_adapter', requireAdmin(context), async (c) => {
    const body = parseWith(loadAdapterBody, await bodyOf(c));
    const { lora_name: name, lora_path: path, base_model_name: base } = body;
    const { models } = context;
    if (models.list().some((model) => model.name === name) || models.aliases().has(name)) {
      throw badRequest(`There is a model \`${name}\` already.`, 'lora_name');
    }
    const wanted = { model: base ?? onlyTaker(context) };
    const lease = await acquireKind(context, wanted, callerOf(context, c), 'text');
    try {
      const { adapters } = lease.runtime;
      if (!adapters) throw takesNone(lease.definition.name);
      await adapters.load(name, path);
    } finally {
      lease.release();
    }
    return c.text(`Success: LoRA adapter '${name}' added successfully.`);
  });
  app.post('/v1/unload_lora_adapter', requireAdmin(context), async (c) => {
    const { lora_name: name } = parseWith(unloadAdapterBody, await bodyOf(c));
    if (!context.adapters.remove(name)) throw modelNotFound(name);
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

/**
 * Name of the loaded model that takes adapters.
 * @throws ApiError 400 where none does, or several do
 */
function onlyTaker({ models }: ServerContext): string {
  const takers = models
    .loaded()
    .filter(({ runtime }) => runtime.kind === 'text' && runtime.adapters)
    .map(({ definition }) => definition.name);
  const [first, another] = new Set(takers);
  if (first === undefined) {
    throw badRequest(
      'No model that is loaded takes LoRA adapters, or this server was started without --lora-dir.',
    );
  }
  if (another === undefined) return first;
  throw badRequest('Several models take LoRA adapters: say which.', 'base_model_name');
}

function takesNone(model: string): ApiError {
  return badRequest(`The model \`${model}\` takes no LoRA adapters.`, 'base_model_name');
}
