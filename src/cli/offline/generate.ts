import { text as readAll } from 'node:stream/consumers';
import { type ChatMessage, ChatTemplateError } from '../../front/templates/chat-message.ts';
import type { ChatTemplate } from '../../front/templates/chat-template.ts';
import { Admission } from '../../front/queue/admission.ts';
import { EngineClient } from '../../front/engine-process/engine-client.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import { TextGenerator } from '../../front/generation/text-generator.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import { toSettings } from '../../server/generation/parameters.ts';
import { buildWithProgress } from '../../serving/loading/build-model.ts';
import { engineLimits, requireReach } from '../../serving/plan/engine-limits.ts';
import { chooseModel } from '../../serving/models/model-source.ts';
import { resolveKernels } from '../../serving/choices/kernels.ts';
import type { Options } from '../../settings/options.ts';
import { cpuSpeed, resolvePrecision } from '../../serving/choices/precision.ts';
import { samplingOf } from '../../serving/plan/sampling.ts';
import type { Settings } from '../../settings/settings.ts';
import { SlowNotice } from '../../serving/progress/slow-notice.ts';
import { loadTextModel, type TextModel } from '../../front/prompts/load-text-model.ts';
import { NEVER_ABORTED } from '../../front/never-aborted.ts';

/** Settings of an engine that computes one answer. */
const ONE_SEQUENCE = {
  maxNumSeqs: 1,
  prefixCaching: false,
  maxNumBatchedTokens: undefined,
  kvCacheMemory: undefined,
  targetItlMs: undefined,
  durableKv: false,
};

/** `chairlift generate`: one answer on stdout, without a server. */
export async function generate({ operands, options }: Settings<'generate'>): Promise<void> {
  const chosen = await chooseModel(options, async () => null);
  const limits = engineLimits({ ...ONE_SEQUENCE, ...options }, chosen.decoder.config);
  const text = await loadTextModel(chosen.text);
  const { tokenizer, generationDefaults, bannedWords, warnings } = text;
  for (const warning of warnings) console.error(`chairlift: ${warning}`);
  const promptText = operands[0] ?? (await readAll(process.stdin));
  const { maxTokens, seed } = options;
  const samplingDefaults = samplingOf(generationDefaults, options);
  const { vocabSize } = chosen.decoder.config;
  const settings = toSettings({ seed }, { vocabSize, samplingDefaults });
  const request = fitContext(
    { ...settings, badWords: [] },
    encodePrompt(text, promptText, options),
    {
      maxTokens: maxTokens ?? null,
      defaultMaxTokens: null,
      truncatePromptTokens: null,
      fields: { prompt: 'prompt', maxTokens: '--max-tokens' },
    },
    { ...limits, samplingDefaults },
  );

  const engine = new EngineClient();
  const choice = resolvePrecision(
    options.precision,
    null,
    chosen.decoder,
    cpuSpeed(options.kernels),
  );
  const kernels = await resolveKernels(options, {
    ...choice,
    model: chosen.decoder.kind,
    device: 'cpu',
  });
  const model = await buildWithProgress(
    chosen.source,
    { ...choice, ...kernels, maxModelLen: limits.maxModelLen },
    options.kvCacheDtype,
  );
  requireReach(limits, model.manifest);
  await new SlowNotice().during(`loading ${chosen.name}`, engine.start({ model, ...limits }));
  const admission = new Admission({ concurrency: 1, maxQueue: 0 });
  const { eosTokenIds } = tokenizer;
  const generator = new TextGenerator({
    engine,
    tokenizer,
    admission,
    eosTokenIds,
    bannedWords,
  });
  for await (const delta of generator.generate(request, NEVER_ABORTED)) {
    process.stdout.write(delta.text);
  }
  process.stdout.write('\n');
  await engine.stop();
}

function encodePrompt(
  { tokenizer, chatTemplate }: TextModel,
  prompt: string,
  { raw, system }: Options<'raw' | 'system'>,
): Int32Array {
  if (raw || chatTemplate === null) return tokenizer.encode(prompt, { addSpecialTokens: true });
  const user = { role: 'user', content: prompt };
  const messages = system === undefined ? [user] : [{ role: 'system', content: system }, user];
  const chat = rendered(chatTemplate, messages);
  return tokenizer.encode(chat, { addSpecialTokens: false });
}

function rendered(template: ChatTemplate, messages: readonly ChatMessage[]): string {
  try {
    return template.render(messages, { addGenerationPrompt: true });
  } catch (error) {
    if (!(error instanceof ChatTemplateError)) throw error;
    throw new InvalidRequestError(`the chat template refuses this prompt: ${error.message}`);
  }
}
