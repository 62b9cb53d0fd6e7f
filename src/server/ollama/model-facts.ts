/** Models as Ollama describes them; those that are not loaded by what their files say. */
import { createHash } from 'node:crypto';
import type { ModelInfo } from '../../front/registry/model-entry.ts';
import type { ModelFacts, ServerContext } from '../context.ts';
import type { SamplingDefaults, TextRuntime } from '../runtimes.ts';
import type { JsonObject } from '../json-object.ts';
import { severalVersions } from '../model-id.ts';
import { toOllamaName } from './names.ts';

/** Time that means never. */
const NEVER = '9999-12-31T23:59:59Z';

/** /api/tags: all models. */
export function listModels(context: ServerContext): Promise<JsonObject[]> {
  const all = context.models.list();
  const several = severalVersions(all);
  return Promise.all(
    all.map(async (info) => {
      const facts = await factsOf(context, info);
      const described = describe(context, info, several, facts);
      return { ...described, size: facts?.bytes ?? info.memoryBytes };
    }),
  );
}

/** /api/ps: those in memory. */
export function listLoaded(context: ServerContext): JsonObject[] {
  const { models } = context;
  const all = models.list();
  const several = severalVersions(all);
  return all.flatMap((info) => {
    const runtime = runtimeOf(context, info);
    if (runtime === undefined) return [];
    const msLeft = models.idleMsLeft(info);
    const expiresAt = msLeft === Infinity ? NEVER : new Date(Date.now() + msLeft).toISOString();
    return [
      {
        ...describe(context, info, several, null),
        expires_at: expiresAt,
        size_vram: 0,
        context_length: runtime.model.maxModelLen,
      },
    ];
  });
}

/** /api/show. */
export async function showModel(context: ServerContext, info: ModelInfo): Promise<JsonObject> {
  const runtime = runtimeOf(context, info);
  const facts = await factsOf(context, info);
  const { details, maxModelLen = facts?.maxModelLen } = runtime?.model ?? {};
  const family = details?.family ?? facts?.family ?? 'unknown';
  return {
    modelfile: '',
    license: '',
    system: '',
    parameters: parametersOf(runtime?.model.samplingDefaults ?? facts?.samplingDefaults ?? {}),
    template: details?.template ?? '',
    details: detailsOf(runtime, facts),
    model_info: {
      'general.architecture': family,
      // Editors show this as its name.
      'general.basename': info.name,
      'general.parameter_count': details?.numParameters ?? null,
      [`${family}.context_length`]: maxModelLen ?? null,
    },
    capabilities: runtime === undefined ? toCapabilities(facts) : capabilitiesOf(runtime),
    modified_at: modifiedAt(context, runtime),
  };
}

function describe(
  context: ServerContext,
  info: ModelInfo,
  several: ReadonlySet<string>,
  facts: ModelFacts | null,
): JsonObject {
  const runtime = runtimeOf(context, info);
  const name = toOllamaName(info, several);
  return {
    name,
    model: name,
    modified_at: modifiedAt(context, runtime),
    size: info.memoryBytes,
    digest: createHash('sha256').update(name).digest('hex'),
    details: detailsOf(runtime, facts),
  };
}

/** Null of a model that is loaded, or whose files say nothing. */
async function factsOf(
  { models, describeModel }: ServerContext,
  info: ModelInfo,
): Promise<ModelFacts | null> {
  const definition = models.definitionOf(info);
  if (models.runtimeOf(info) !== null || definition === null) return null;
  return (await describeModel?.(definition)) ?? null;
}

/** In Ollama's words. */
function toCapabilities(facts: ModelFacts | null): string[] {
  const { capabilities = ['completions'] } = facts ?? {};
  if (capabilities.includes('vision')) return ['completion', 'tools', 'vision'];
  if (capabilities.includes('chat')) return ['completion', 'tools'];
  if (capabilities.includes('completions')) return ['completion'];
  return capabilities.includes('embeddings') ? ['embedding'] : [];
}

function runtimeOf({ models }: ServerContext, info: ModelInfo): TextRuntime | undefined {
  const runtime = models.runtimeOf(info);
  return runtime?.kind === 'text' ? runtime : undefined;
}

function modifiedAt({ startedAt }: ServerContext, runtime: TextRuntime | undefined): string {
  return new Date((runtime?.model.created ?? startedAt) * 1000).toISOString();
}

function detailsOf(runtime: TextRuntime | undefined, facts: ModelFacts | null): JsonObject {
  const {
    family = facts?.family ?? '',
    format = facts?.format ?? 'onnx',
    quantization = facts?.quantization ?? null,
    numParameters,
    precision = '',
  } = runtime?.model.details ?? {};
  return {
    parent_model: '',
    format,
    family,
    families: family === '' ? [] : [family],
    parameter_size: numParameters === undefined ? '' : inShort(numParameters),
    quantization_level: quantization ?? precision.toUpperCase(),
  };
}

function capabilitiesOf(runtime: TextRuntime | undefined): string[] {
  const { toolCalls = null, reasoning = null } = runtime?.chatFormat ?? {};
  return [
    'completion',
    ...(toolCalls === null ? [] : ['tools']),
    ...(reasoning === null ? [] : ['thinking']),
    ...(runtime?.takesImages === true ? ['vision'] : []),
    ...((runtime?.prompts.infillStops ?? null) === null ? [] : ['insert']),
  ];
}

/** As lines of a Modelfile. */
function parametersOf({
  temperature,
  topK,
  topP,
  minP,
  repetitionPenalty,
}: SamplingDefaults): string {
  const values = {
    temperature,
    top_k: topK,
    top_p: topP,
    min_p: minP,
    repeat_penalty: repetitionPenalty,
  };
  return Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
    .join('\n');
}

/** Such as `1.5B`. */
function inShort(numParameters: number): string {
  const [divisor, unit] = numParameters >= 1e9 ? [1e9, 'B'] : [1e6, 'M'];
  return `${(numParameters / divisor).toFixed(1)}${unit}`;
}
