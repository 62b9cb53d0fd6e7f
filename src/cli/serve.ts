import { Command } from 'commander';
import { Admission, requestsInEngine } from '../front/queue/admission.ts';
import { chatFormatOf } from '../front/chat/chat-format.ts';
import { EngineClient } from '../front/engine-process/engine-client.ts';
import { GrammarChecker } from '../front/grammars/grammar-checker.ts';
import { grammarVocabulary } from '../front/grammars/grammar-vocabulary.ts';
import { observeAll } from '../front/generation/observe-all.ts';
import { PromptEncoder } from '../front/prompts/prompt-encoder.ts';
import { PromptPool } from '../front/prompts/prompt-pool.ts';
import { TextGenerator } from '../front/generation/text-generator.ts';
import { loadTextModel } from '../front/text/load-text-model.ts';
import { createLogger } from '../observability/logger.ts';
import { MetricsHub } from '../observability/metrics-hub.ts';
import { createApp } from '../server/app.ts';
import { DEFAULT_SERVER_CONFIG, type ServerContext } from '../server/context.ts';
import { ResponseStore } from '../server/responses/store.ts';
import { listen } from '../server/http/listen.ts';
import { LoopMonitor } from '../server/operating/loop-monitor.ts';
import { BodyReader } from '../server/http/request-body.ts';
import { ServerTimings } from '../server/generation/server-timing.ts';
import { WebSocketHub } from '../server/websocket/hub.ts';
import { openAccess } from './access.ts';
import { resolveAttention } from './attention.ts';
import { banner } from './banner.ts';
import { buildWithProgress } from './build-model.ts';
import { chooseDevice, DEVICE_OPTIONS } from './device.ts';
import { engineLimits, requireReach } from './engine-limits.ts';
import { chooseModel } from './model-source.ts';
import { addOptions, type OptionName, type Options, readOptions } from './options.ts';
import { resolvePrecision } from './precision.ts';
import { onReloadSignal } from './reload.ts';
import { onShutdownSignal } from './shutdown.ts';
import { speculation } from './speculation.ts';
import { packageVersion } from './version.ts';

const NAMES: readonly OptionName[] = [
  'model',
  'servedModelName',
  'host',
  'port',
  ...DEVICE_OPTIONS,
  'precision',
  'kvCacheDtype',
  'attention',
  'maxNumSeqs',
  'maxModelLen',
  'maxNumBatchedTokens',
  'kvCacheMemory',
  'prefixCaching',
  'targetItlMs',
  'speculative',
  'speculativeTokens',
  'draftModel',
  'durableKv',
  'maxQueue',
  'maxQueueTokens',
  'requestTimeout',
  'stepTimeout',
  'tokenizerPoolSize',
  'grammarPoolSize',
  'specialTokensInContent',
  'maxBody',
  'maxConnections',
  'maxConnectionsPerAddress',
  'receiveTimeout',
  'responseStoreSize',
  'apiKey',
  'apiKeyFile',
  'adminApiKey',
  'sharePrefixCache',
  'priorityRange',
  'tlsCert',
  'tlsKey',
  'toolCallParser',
  'reasoningParser',
  'corsOrigin',
  'allowedHost',
  'shutdownTimeout',
  'threads',
  'randomWeights',
  'logLevel',
];

/** `chairlift serve`: the server. */
export function serveCommand(): Command {
  const command = new Command('serve').description('serve a model over HTTP and WebSocket');
  return addOptions(command, NAMES).action(() => serve(readOptions(command)));
}

async function serve(options: Options): Promise<void> {
  const logger = createLogger(options.logLevel);
  const access = await openAccess(options, logger);
  const chosen = await chooseModel(options, (config) => chooseDevice(options, config));
  const chosenDevice = await chooseDevice(options, chosen.decoder.config);
  const limits = engineLimits(options, chosen.decoder.config, chosenDevice);
  const choice = resolvePrecision(options.precision, chosenDevice, chosen.decoder);
  const attention = resolveAttention(
    options.attention,
    chosenDevice,
    choice.activationDtype,
    chosen.decoder.kind,
  );
  const { specialTokensInContent = false } = options;
  const textSource = { ...chosen.text, specialTokensInContent };
  const textModel = await loadTextModel(textSource);
  const { tokenizer, chatTemplate, generationDefaults } = textModel;
  const modelName = options.servedModelName ?? chosen.name;
  const version = await packageVersion();

  const engine = new EngineClient({
    stepTimeoutMs: options.stepTimeout * 1000,
    onCrash: (description, unfinished) =>
      logger.error({ description, unfinished }, 'the engine process died; starting another'),
  });
  const admission = new Admission({
    concurrency: requestsInEngine(limits.maxNumSeqs),
    maxQueue: options.maxQueue,
    isShared: () => access.keys.numClients > 1,
    ...(options.maxQueueTokens === undefined ? {} : { maxQueueTokens: options.maxQueueTokens }),
  });
  const metrics = new MetricsHub({ withProcess: true, models: () => [] });
  const modelMetrics = metrics.of(modelName, { engine, admission });
  const { eosTokenIds } = tokenizer;
  const timings = new ServerTimings();
  const observe = observeAll(
    modelMetrics.observe.bind(modelMetrics),
    timings.observe.bind(timings),
  );
  const generator = new TextGenerator({ engine, tokenizer, admission, eosTokenIds, observe });

  const promptPool = new PromptPool(textSource, options.tokenizerPoolSize);
  const vocabulary = grammarVocabulary(tokenizer, chosen.decoder.config.vocabSize);
  const grammars = new GrammarChecker({ vocabulary, size: options.grammarPoolSize });

  let draining = false;
  const context: ServerContext = {
    generator,
    engine,
    admission,
    tokenizer,
    prompts: new PromptEncoder({ model: textModel, admission, pool: promptPool }),
    chatFormat: chatFormatOf(chatTemplate?.text ?? '', options),
    grammars,
    model: {
      id: modelName,
      created: Math.floor(Date.now() / 1000),
      maxModelLen: limits.maxModelLen,
      vocabSize: chosen.decoder.config.vocabSize,
      samplingDefaults: generationDefaults,
    },
    bodies: new BodyReader(options.maxBody),
    responses: new ResponseStore(options.responseStoreSize),
    config: {
      ...DEFAULT_SERVER_CONFIG,
      host: options.host,
      allowedHosts: options.allowedHost ?? [],
      corsOrigins: options.corsOrigin ?? [],
      maxBodyBytes: options.maxBody,
      maxSequencesPerRequest: admission.mostPerRequest,
      requestTimeoutMs: options.requestTimeout ? options.requestTimeout * 1000 : null,
      priorities: options.priorityRange,
      sharePrefixCache: options.sharePrefixCache ?? false,
      version,
    },
    keys: access.keys,
    metrics,
    timings,
    logger,
    loop: new LoopMonitor(),
    isDraining: () => draining,
  };
  // Before the model is built, which can take long: a taken port is reported at once, and probes
  // get 503.
  const webSockets = new WebSocketHub(context);
  const { host, port } = options;
  const { tls } = access;
  const connections = {
    maxConnections: options.maxConnections,
    maxConnectionsPerAddress: options.maxConnectionsPerAddress ?? null,
    receiveMs: options.receiveTimeout * 1000,
  };
  const listener = await listen(createApp(context), { host, port, webSockets, tls, connections });
  onReloadSignal(() =>
    access.reload({
      dropRevoked: () => webSockets.dropRevoked(),
      setTls: (renewed) => listener.setTls(renewed),
    }),
  );

  onShutdownSignal(async () => {
    draining = true;
    admission.close();
    const deadline = performance.now() + options.shutdownTimeout * 1000;
    // Until the last request is done the port stays open: probes must see that we are draining.
    await Promise.race([admission.onIdle(), after(options.shutdownTimeout * 1000)]);
    await listener.close(Math.max(0, deadline - performance.now()));
    promptPool.close();
    grammars.close();
    await engine.stop();
  });

  const model = await buildWithProgress(
    chosen.source,
    { ...choice, maxModelLen: limits.maxModelLen },
    options.kvCacheDtype,
  );
  requireReach(limits, model.manifest);
  const { device } = chosenDevice;
  const speculative = await speculation(options, choice, device, chosen.decoder.config);
  await engine.start({
    model,
    ...limits,
    attention,
    speculative,
    grammarVocabulary: vocabulary,
  });
  const { manifest } = model;
  const precisionReason = choice.reason;
  const { adapter, reason: deviceReason } = chosenDevice;
  const { info } = engine;
  const canChat = chatTemplate !== null;
  const needsKey = !access.keys.isOpen;
  const { url } = listener;
  const how = { precisionReason, adapter, deviceReason, info, limits, attention };
  console.log(banner({ url, version, modelName, manifest, ...how, canChat, needsKey }));
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
