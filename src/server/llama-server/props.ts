/** /props as llama-server has it: its clients read the length of the context and the chat template. */
import type { Hono } from 'hono';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { withLlamaCppDefaults } from '../generation/llama-cpp-defaults.ts';
import type { JsonObject } from '../json-object.ts';
import { withModel } from '../model-access.ts';
import type { ServedText } from '../runtimes.ts';
import { tokenizerQuery } from '../schemas/bodies.ts';
import { parseWith } from '../schemas/parse.ts';

export function propsRoute(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/props', async (c) => {
    const query = parseWith(tokenizerQuery, c.req.query());
    return withModel(context, query, callerOf(context, c), async (served) =>
      c.json({ ...propsOf(served), build_info: `chairlift ${context.config.version}` }),
    );
  });
}

function propsOf({ model, engine }: ServedText): JsonObject {
  const { samplingDefaults: defaults } = withLlamaCppDefaults(model);
  return {
    default_generation_settings: {
      n_ctx: model.maxModelLen,
      params: {
        n_predict: -1,
        temperature: defaults.temperature,
        top_k: defaults.topK,
        top_p: defaults.topP,
        min_p: defaults.minP,
        repeat_penalty: defaults.repetitionPenalty ?? 1,
      },
    },
    total_slots: engine.info.maxNumSeqs,
    model_alias: model.id,
    // Never the place on this machine.
    model_path: model.id,
    modalities: { vision: false, audio: false },
    chat_template: model.details?.template ?? '',
  };
}
