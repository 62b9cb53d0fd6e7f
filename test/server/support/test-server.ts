/** A listening server over the fake engine, with a tokenizer of one token per byte. */
import { type Logger, pino } from 'pino';
import { afterEach } from 'vitest';
import type { EngineState } from '../../../src/front/engine-process/engine-contract.ts';
import { AdapterShelf } from '../../../src/front/adapters/adapter-shelf.ts';
import { AudioPool } from '../../../src/front/audio/audio-pool.ts';
import { Admission } from '../../../src/front/queue/admission.ts';
import { PLAIN_CHAT, type ChatFormat } from '../../../src/front/chat/chat-format.ts';
import type { ShiftedModel } from '../../../src/front/generation/context-shift.ts';
import type { Generator } from '../../../src/front/generation/generation.ts';
import { DecoderEncoder } from '../../../src/front/embedding/decoder-encoder.ts';
import { PromptReader } from '../../../src/front/generation/prompt-reader.ts';
import { LAST_TOKEN, readSentenceModules } from '../../../src/model/encoder/sentence-modules.ts';
import { pairTemplate } from '../../../src/front/templates/pair-template.ts';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import { observeAll } from '../../../src/front/generation/observe-all.ts';
import { Prefetcher } from '../../../src/front/prefetch/prefetcher.ts';
import type { ModelControl } from '../../../src/front/registry/model-control.ts';
import type { Aliases } from '../../../src/front/registry/aliases.ts';
import { ModelRegistry } from '../../../src/front/registry/model-registry.ts';
import { PlainChatEncoder } from '../../../src/front/templates/chat-encoder.ts';
import { runPromptJob } from '../../../src/front/prompts/prompt-job.ts';
import {
  PromptEncoder,
  type PromptEncoderOptions,
} from '../../../src/front/prompts/prompt-encoder.ts';
import {
  serviceClasses,
  type ServiceClasses,
} from '../../../src/front/service-classes/service-class.ts';
import { TextGenerator } from '../../../src/front/generation/text-generator.ts';
import { InfillEncoder } from '../../../src/front/text/infill.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import type { GenerationCache } from '../../../src/front/response-cache/generation-cache.ts';
import { sourceToEbnf } from '../../../src/grammar/source-ebnf.ts';
import { MetricsHub } from '../../../src/observability/metrics-hub.ts';
import { sloMetrics } from '../../../src/observability/slo/slo-metrics.ts';
import { SloTracker } from '../../../src/observability/slo/slo-tracker.ts';
import { ApiKeys, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { createApp } from '../../../src/server/app.ts';
import { ImageSources, type ImageSourcesOptions } from '../../../src/front/images/image-sources.ts';
import type { DescribeModel, PullModel, ServerContext } from '../../../src/server/context.ts';
import type { SamplingDefaults, AnyRuntime, TextRuntime } from '../../../src/server/runtimes.ts';
import { DEFAULT_SERVER_CONFIG, type ServerConfig } from '../../../src/server/config.ts';
import { lineWork } from '../../../src/server/batches/line-runner.ts';
import type { BatchService } from '../../../src/server/batches/batch-service.ts';
import type { BodyBudget } from '../../../src/server/http/body-budget.ts';
import { BodyReader } from '../../../src/server/http/request-body.ts';
import { RateLimits, type RateLimitsOptions } from '../../../src/server/rates/rate-limits.ts';
import { NO_RATES, type Rates } from '../../../src/server/auth/key-rates.ts';
import { Usage } from '../../../src/server/rates/usage.ts';
import { RunningRequests } from '../../../src/server/operating/running-requests.ts';
import type { Handover } from '../../../src/server/resume/handover.ts';
import { ResumeKey } from '../../../src/server/resume/resume-key.ts';
import { ResponseStore } from '../../../src/server/responses/store.ts';
import { InferenceStatistics } from '../../../src/server/generation/inference-statistics.ts';
import type { PageFiles } from '../../../src/server/ui/page-files.ts';
import { StatusSampler } from '../../../src/server/status/sampler.ts';
import type { Setting } from '../../../src/server/status/settings.ts';
import { Troubles } from '../../../src/server/status/troubles.ts';
import { LIMITS } from '../../../src/limits.ts';
import { grantedClass, ServiceTiers } from '../../../src/server/tiers/service-tiers.ts';
import { listen, type ConnectionOptions } from '../../../src/server/http/listen.ts';
import type { TlsContext } from '../../../src/server/http/tls.ts';
import { WebSocketHub } from '../../../src/server/web-socket-hub.ts';
import type { ModelDefinition } from '../../../src/front/registry/model-definition.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { FakeEngine, type FakeEngineOptions, type Script } from '../../support/fake-engine.ts';
import { UnreadAnswers } from '../../../src/server/http/unread-answers.ts';

export const MODEL = 'org/fake-model';
export const MAX_MODEL_LEN = 256;

const EOS_TOKEN = '<|end|>';
const TEMPLATE =
  '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if tools %}tools: {{ tools | tojson }}\n{% endif %}{% if add_generation_prompt %}assistant: {% endif %}';

/** Printable ASCII characters as ids 0 to 94, the line break, then the end of text. */
const CHARACTERS = [
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)),
  '\n',
];
export const EOS_TOKEN_ID = CHARACTERS.length;
export const VOCAB_SIZE = CHARACTERS.length + 1;

export function tokensOf(text: string): number[] {
  return Array.from(text, (character) => CHARACTERS.indexOf(character));
}

/** As StarCoder2 has them, after the end of text. */
export const INFILL_TOKENS = [
  '<fim_prefix>',
  '<fim_suffix>',
  '<fim_middle>',
  '<repo_name>',
  '<file_sep>',
] as const;

function createTokenizer(modelSize: number, further: readonly string[]): TextTokenizer {
  const vocab = Object.fromEntries(
    CHARACTERS.map((character, id) => [byteLevel(character), id] as const),
  );
  const special = [EOS_TOKEN, ...further].map(
    (content, index) => [content, EOS_TOKEN_ID + index] as const,
  );
  return new TextTokenizer({
    tokenizer: {
      model: { type: 'BPE', vocab: { ...vocab, ...Object.fromEntries(special) }, merges: [] },
      normalizer: null,
      post_processor: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      decoder: { type: 'ByteLevel' },
      added_tokens: special.map(([content, id]) => ({
        id,
        content,
        special: true,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
      })),
    },
    config: {
      tokenizer_class: 'FakeTokenizer',
      eos_token: EOS_TOKEN,
      name_or_path: '/home/of/somebody',
    },
    eosToken: EOS_TOKEN,
    modelSize,
  });
}

/** GPT-2's printable stand-ins for the two characters that are not printable. */
function byteLevel(character: string): string {
  if (character === ' ') return 'Ġ';
  return character === '\n' ? 'Ċ' : character;
}

/** Says `text` and ends. */
export function says(text: string): Script {
  return () => tokensOf(text);
}

/** Says `x` for ever. */
export function* babbles(): Iterable<number> {
  const [tokenId] = tokensOf('x');
  for (;;) yield tokenId ?? 0;
}

export interface TestServerOptions {
  /** Bytes that may arrive at once. */
  readonly bodyBudget?: BodyBudget;
  /** Further names of models. */
  readonly aliases?: Aliases;
  readonly script?: Script;
  readonly engine?: FakeEngineOptions;
  readonly config?: Partial<ServerConfig> & { readonly apiKeys?: readonly string[] };
  readonly tls?: TlsContext;
  /** In place of 127.0.0.1. */
  readonly listensOn?: string;
  /** In place of `config.apiKeys`. */
  readonly keys?: ApiKeys;
  readonly samplingDefaults?: SamplingDefaults;
  /** Whether the model has tokens to fill in texts. */
  readonly fillsIn?: boolean;
  /** Vocabulary of the model; that of its tokenizer if left out. */
  readonly vocabSize?: number;
  /** Tokens that contain a text; none if left out. */
  readonly tokensWith?: TextRuntime['model']['tokensWith'];
  readonly concurrency?: number;
  readonly maxQueue?: number;
  readonly maxModelLen?: number;
  readonly contextShift?: ShiftedModel;
  readonly maxSequencesPerRequest?: number;
  readonly responseStoreBytes?: number;
  readonly rates?: Partial<Rates>;
  readonly classes?: ServiceClasses;
  readonly state?: EngineState;
  readonly chatFormat?: ChatFormat;
  /** Where long prompts are made; on the main thread if left out. */
  readonly promptPool?: PromptEncoderOptions['pool'];
  readonly grammars?: TextRuntime['grammars'];
  readonly logger?: Logger;
  readonly connections?: Partial<ConnectionOptions>;
  /** Delays of the event loop that /livez hears of. */
  readonly loop?: ServerContext['loop'];
  /** In place of the text generator over the fake engine. */
  readonly generator?: Generator;
  /** When models are loaded; at start if left out. */
  readonly control?: ModelControl;
  /** No model is loaded before. */
  readonly mayLoad?: Promise<void>;
  /** In place of the only one. All run on the same engine. */
  readonly models?: readonly ModelDefinition[];
  /** Runtime in place of a model's usual one. */
  readonly onLoad?: (name: string, runtime: TextRuntime) => Promise<TextRuntime>;
  /** LoRA adapters of all models. */
  readonly adapters?: AdapterShelf;
  /** Runtimes of models of other kinds, by name. */
  readonly runtimes?: Readonly<Record<string, AnyRuntime>>;
  /** As of --keep-alive; for ever if left out. */
  readonly keepAliveMs?: number;
  readonly pullModel?: PullModel;
  readonly describeModel?: DescribeModel;
  /** Id of the model's weights; the same for all servers if left out. */
  readonly contentId?: string;
  /** As of --resume-key. */
  readonly resumeKey?: string;
  readonly handover?: Handover;
  /** For browsers; none if left out. */
  readonly page?: PageFiles;
  /** Started with the server. */
  readonly batches?: BatchService;
  /** Text that stands for an image in prompts; left out for a model that takes text only. */
  readonly imageMark?: string;
  /** As flags have it. */
  readonly images?: Partial<ImageSourcesOptions>;
  /** Answers that are kept; none if left out. */
  readonly answers?: GenerationCache | null;
  /** As the command line has them. */
  readonly settings?: readonly Setting[];
  readonly pinned?: TextRuntime['pinned'];
  readonly nextTurns?: (prefetcher: Prefetcher) => TextRuntime['nextTurns'];
  /** Where rates are counted; in memory if left out. */
  readonly createLimiter?: RateLimitsOptions['createLimiter'];
}

export interface TestServer {
  readonly url: string;
  readonly engine: FakeEngine;
  readonly admission: Admission;
  /** Runtime that serves requests; tests may put other parts into it. */
  readonly runtime: TextRuntime;
  readonly context: ServerContext;
  /** Samples when a test says so. */
  readonly sampler: StatusSampler;
  readonly webSockets: WebSocketHub;
  setTls(tls: TlsContext): void;
  startLeaving(): void;
  /** Closes connections as soon as they are idle. */
  drain(): void;
  startDraining(): void;
  close(graceMs?: number): Promise<void>;
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { apiKeys = [], ...config } = options.config ?? {};
  const engine = new FakeEngine(options.script ?? says('Hello there!'), options.engine);
  if (options.state !== undefined) engine.state = options.state;
  const keys = options.keys ?? new ApiKeys(unnamedKeys(apiKeys));
  const admission = new Admission({
    concurrency: options.concurrency ?? 8,
    maxQueue: options.maxQueue ?? 8,
    isShared: () => keys.numClients > 1,
  });
  const metrics = new MetricsHub({ withProcess: false, models: () => [], maxAgeMs: 0 });
  const modelMetrics = metrics.of(MODEL, { engine, admission });
  const classes = options.classes ?? serviceClasses();
  const tiers = new ServiceTiers(classes, (client) => keys.classOf(client));
  const targets = new SloTracker(classes.classes);
  metrics.add(sloMetrics(targets));
  const statistics = new InferenceStatistics();
  const modelKey = { name: MODEL, version: '1' };
  const marks = options.imageMark === undefined ? [] : [options.imageMark];
  const further = [...(options.fillsIn === true ? INFILL_TOKENS : []), ...marks];
  const vocabSize = options.vocabSize ?? VOCAB_SIZE + further.length;
  const tokenizer = createTokenizer(vocabSize, further);
  const template = new ChatTemplate(new Map([['default', TEMPLATE]]), {});
  const pairs = new PlainChatEncoder(pairTemplate(null), tokenizer);
  const textModel = {
    tokenizer,
    chat: new PlainChatEncoder(template, tokenizer, options.imageMark),
    pairs: () => pairs,
    infill: InfillEncoder.of(tokenizer),
  };
  let isLeaving = false;
  let isDraining = false;
  const generator =
    options.generator ??
    new TextGenerator({
      engine,
      tokenizer,
      admission,
      eosTokenIds: [EOS_TOKEN_ID],
      observe: observeAll(
        modelMetrics.observe.bind(modelMetrics),
        ({ record }) => record ?? null,
        targets.observe.bind(targets),
        () => statistics.observe(modelKey),
      ),
    });
  const prompts = new PromptEncoder({
    model: textModel,
    admission,
    pool: options.promptPool ?? { run: async (job) => runPromptJob(textModel, job) },
  });
  const maxModelLen = options.maxModelLen ?? MAX_MODEL_LEN;
  const rules = { ...DEFAULT_SERVER_CONFIG, ...config };
  const encoder = new DecoderEncoder({
    reader: new PromptReader({
      generator,
      rules,
      classOf: (caller) => grantedClass(tiers, caller),
      parallel: 4,
    }),
    prompts,
    tokenizer,
    modules: {
      ...(await readSentenceModules(null, LAST_TOKEN)),
      logitScore: { trueTokenId: tokensOf('y')[0] ?? 0, falseTokenId: tokensOf('n')[0] ?? 0 },
    },
    hiddenSize: engine.info.hiddenSize,
    maxModelLen,
  });
  const prefetcher = new Prefetcher(engine);
  const runtime: TextRuntime = {
    kind: 'text',
    memoryBytes: 0,
    stop: async () => {},
    generator,
    encoder,
    engine,
    admission: {
      mostPerRequest: options.maxSequencesPerRequest ?? 128,
      get waiting() {
        return admission.waiting;
      },
      get running() {
        return admission.running;
      },
      requireRoom: (numTokens, client, tier) => admission.requireRoom(numTokens, client, tier),
      onIdle: () => admission.onIdle(),
      close: () => admission.close(),
    },
    tokenizer,
    prompts,
    chatFormat: options.chatFormat ?? PLAIN_CHAT,
    grammars: options.grammars ?? {
      check: async (source, { client }) => ({
        ebnf: sourceToEbnf(source),
        field: source.field,
        owner: client,
      }),
    },
    model: {
      id: MODEL,
      created: 1_700_000_000,
      maxModelLen,
      contextShift: options.contextShift ?? null,
      vocabSize,
      tokensWith: options.tokensWith ?? (() => new Int32Array()),
      samplingDefaults: options.samplingDefaults ?? {},
    },
    takesImages: options.imageMark !== undefined,
    buildId: 'fake',
    contentId: options.contentId ?? 'fake',
    prefetcher,
    pinned: options.pinned ?? { pin: async () => ({ numCachedTokens: 0 }) },
    nextTurns: options.nextTurns?.(prefetcher) ?? null,
  };
  const models = new ModelRegistry<AnyRuntime>({
    loader: {
      estimate: async () => 0,
      async load({ name, flags: { failure } }) {
        await options.mayLoad;
        if (typeof failure === 'string') throw new Error(failure);
        const other = options.runtimes?.[name];
        if (other !== undefined) return other;
        // Tests put other parts into that of the usual one.
        const own =
          name === MODEL ? runtime : { ...runtime, model: { ...runtime.model, id: name } };
        return options.onLoad?.(name, own) ?? own;
      },
    },
    control: options.control ?? 'none',
    maxModels: Infinity,
    maxBytes: 0,
    keepAliveMs: options.keepAliveMs ?? Infinity,
    maxWaiting: 8,
  });
  const definitions = options.models ?? [modelDefinition(MODEL, {}, { preload: true })];
  await models.update(definitions, options.aliases ?? new Map());
  await models.preload();
  const troubles = new Troubles(LIMITS.rememberedErrors);
  const answers = options.answers ?? null;
  const { batches } = options;
  const sampler = new StatusSampler({ models, answers, troubles, metrics });
  const shared: ServerContext = {
    models,
    startedAt: 1_700_000_000,
    unread: new UnreadAnswers(),
    bodies: new BodyReader(
      options.config?.maxBodyBytes ?? DEFAULT_SERVER_CONFIG.maxBodyBytes,
      options.bodyBudget,
    ),
    // Its processes start with the first file.
    audio: new AudioPool(),
    images: new ImageSources({
      maxImages: LIMITS.promptImages,
      allowedDomains: [],
      allowedLocalPath: null,
      ...(batches === undefined
        ? {}
        : {
            readUpload: (id: string, client: string, maxBytes: number) =>
              batches.files.readImage(id, client, maxBytes),
          }),
      ...options.images,
    }),
    responses: new ResponseStore(options.responseStoreBytes ?? 2 ** 20),
    config: { ...DEFAULT_SERVER_CONFIG, version: '1.2.3', ...config },
    keys,
    tiers,
    metrics,
    statistics,
    logger: options.logger ?? pino({ level: 'silent' }),
    rates: new RateLimits({
      rates: { ...NO_RATES, ...options.rates },
      ownRates: (client) => keys.ratesOf(client),
      onRefusal: (unit) => metrics.countRateLimited(unit),
      ...(options.createLimiter === undefined ? {} : { createLimiter: options.createLimiter }),
    }),
    usage: new Usage(),
    answers,
    troubles,
    status: sampler,
    settings: () => options.settings ?? [],
    adapters: options.adapters ?? new AdapterShelf(),
    running: new RunningRequests(),
    loop: options.loop ?? { stalledMs: 0 },
    isLeaving: () => isLeaving || isDraining,
    resumption:
      options.resumeKey === undefined
        ? null
        : { key: new ResumeKey(options.resumeKey), handover: options.handover ?? null },
    isDraining: () => isDraining,
    ...(options.pullModel === undefined ? {} : { pullModel: options.pullModel }),
    ...(options.describeModel === undefined ? {} : { describeModel: options.describeModel }),
    ...(options.batches === undefined ? {} : { batches: options.batches }),
    page: options.page ?? null,
  };
  options.batches?.start(lineWork(shared), (client) => keys.isKnown(client));
  const webSockets = new WebSocketHub(shared);
  const listener = await listen(createApp(shared), {
    host: options.listensOn ?? '127.0.0.1',
    port: 0,
    rootPath: shared.config.rootPath,
    webSockets,
    tls: options.tls ?? null,
    connections: options.connections ?? {},
  });
  return {
    url: listener.url,
    engine,
    admission,
    runtime,
    context: shared,
    sampler,
    webSockets,
    setTls: (tls) => listener.setTls(tls),
    startLeaving() {
      isLeaving = true;
    },
    startDraining() {
      isDraining = true;
    },
    drain: () => listener.drain(),
    close: (graceMs = 0) => listener.close(graceMs),
  };
}

/** Starts servers, and closes each at the end of its test. */
export function useServers(): (options?: TestServerOptions) => Promise<TestServer> {
  const servers: TestServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  return async (options) => {
    const server = await startServer(options);
    servers.push(server);
    return server;
  };
}
