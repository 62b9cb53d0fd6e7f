import { Command } from 'commander';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import { Admission } from '../front/queue/admission.ts';
import { EngineClient } from '../front/engine-process/engine-client.ts';
import { fitContext } from '../front/generation/fit-context.ts';
import { TextGenerator } from '../front/generation/text-generator.ts';
import { toSettings } from '../server/generation/parameters.ts';
import { buildWithProgress } from './build-model.ts';
import { engineLimits, requireReach } from './engine-limits.ts';
import { UsageError } from './usage-error.ts';
import { chooseModel } from './model-source.ts';
import { resolveKernels } from './kernels.ts';
import { addOptions, type OptionName, readOptions } from './options.ts';
import { cpuSpeed, resolvePrecision } from './precision.ts';
import { loadTextModel, type TextModel } from '../front/text/load-text-model.ts';
import { NEVER_ABORTED } from '../front/generation/never-aborted.ts';

const NAMES: readonly OptionName[] = [
  'model',
  'adapter',
  'precision',
  'kvCacheDtype',
  'kernels',
  'maxModelLen',
  'threads',
  'randomWeights',
];

const ownOptions = z.object({
  maxTokens: z.coerce.number().pipe(z.int().min(1)).optional(),
  temperature: z.coerce.number().min(0).max(2).optional(),
  seed: z.coerce.number().pipe(z.int()).optional(),
  system: z.string().optional(),
  raw: z.boolean().default(false),
});

/** `chairlift generate`: one answer on stdout, without a server. */
export function generateCommand(): Command {
  const command = new Command('generate')
    .description('print the answer to one prompt, without a server')
    .argument('[prompt]', 'what to say; read from stdin if left out')
    .option('--max-tokens <n>', 'most tokens to generate (default: what fits)')
    .option('--temperature <t>', "0 is greedy (default: the model's own)")
    .option('--seed <n>', 'for an answer that can be repeated')
    .option('--system <text>', 'system message')
    .option('--raw', 'complete the prompt as it is, without the chat template');
  return addOptions(command, NAMES).action((prompt?: string) => generate(command, prompt));
}

async function generate(command: Command, argument: string | undefined): Promise<void> {
  const own = ownOptions.safeParse(command.opts());
  if (!own.success) throw new UsageError(z.prettifyError(own.error));
  const options = readOptions(command);
  const chosen = await chooseModel(options, async () => null);
  const limits = engineLimits(
    { ...options, maxNumSeqs: 1, prefixCaching: false },
    chosen.decoder.config,
  );
  const text = await loadTextModel(chosen.text);
  const { tokenizer, generationDefaults } = text;
  const promptText = argument ?? (await readAll(process.stdin));
  const { maxTokens, temperature, seed } = own.data;
  const settings = toSettings(
    { temperature, seed },
    { vocabSize: chosen.decoder.config.vocabSize, samplingDefaults: generationDefaults },
  );
  const request = fitContext(
    { ...settings, badWords: [] },
    encodePrompt(text, promptText, own.data),
    {
      maxTokens: maxTokens ?? null,
      defaultMaxTokens: null,
      truncatePromptTokens: null,
      fields: { prompt: 'prompt', maxTokens: '--max-tokens' },
    },
    limits.maxModelLen,
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
  await engine.start({ model, ...limits });
  const admission = new Admission({ concurrency: 1, maxQueue: 0 });
  const { eosTokenIds } = tokenizer;
  const generator = new TextGenerator({ engine, tokenizer, admission, eosTokenIds });
  for await (const delta of generator.generate(request, NEVER_ABORTED)) {
    process.stdout.write(delta.text);
  }
  process.stdout.write('\n');
  await engine.stop();
}

function encodePrompt(
  { tokenizer, chatTemplate }: TextModel,
  prompt: string,
  { raw, system }: { raw: boolean; system?: string | undefined },
): Int32Array {
  if (raw || chatTemplate === null) return tokenizer.encode(prompt, { addSpecialTokens: true });
  const user = { role: 'user', content: prompt };
  const messages = system === undefined ? [user] : [{ role: 'system', content: system }, user];
  const chat = chatTemplate.render(messages, { addGenerationPrompt: true });
  return tokenizer.encode(chat, { addSpecialTokens: false });
}
