import { AUDIO_LIMITS } from './audio-limits.ts';
import { CONNECTION_LIMITS } from './connection-limits.ts';
import { IMAGE_LIMITS } from './image-limits.ts';
import { SPEECH_LIMITS } from './speech-limits.ts';
import { PREFIX_LIMITS } from './prefix-limits.ts';
import { GENERATION_LIMITS } from './generation-limits.ts';

/**
 * Every bound on what an untrusted client may ask for, in one place. docs/security.md has the same
 * table, and a test holds the two together. A bound that operators want to move is a flag: its value
 * here is the flag's default.
 */
export const LIMITS = {
  ...CONNECTION_LIMITS,
  ...IMAGE_LIMITS,
  ...AUDIO_LIMITS,
  ...SPEECH_LIMITS,
  ...PREFIX_LIMITS,
  ...GENERATION_LIMITS,
  /** Bytes of a request body or a WebSocket frame (--max-body). */
  bodyBytes: 8 * 2 ** 20,
  /** Milliseconds that a TLS handshake may take. */
  tlsHandshakeMs: 10_000,
  /** Bytes of all request bodies that are being read at once, over all clients. */
  bodyBytesAtOnce: 256 * 2 ** 20,
  /** The same of one client; a server without keys has one. */
  clientBodyBytesAtOnce: 128 * 2 ** 20,
  /** Bytes of one body that are read in a turn of the event loop, and of a frame that are scanned at once. */
  bodyTurnBytes: 2 ** 16,
  /** Pieces of less than 64 bytes that a body may come in: each costs as much as a large one. */
  smallBodyPieces: 1024,
  /**
   * Bounds of JSON, so that JSON.parse, which nothing can stop, is done within some 20 ms: an object of
   * a shape of its own costs it 70 times as much as a number.
   */
  jsonDepth: 64,
  /** Values in all; numbers are cheap, and a prompt of token ids has many. */
  jsonValues: 262_144,
  /** Lists and objects. */
  jsonContainers: 32_768,
  /** Strings, names of fields included; token ids as names, as `logit_bias` has them, are not. */
  jsonStrings: 65_536,
  /** Fields of all objects, but for those that are named by token ids. */
  jsonFields: 16_384,
  /** Characters of a WebSocket request's id. */
  requestIdCharacters: 256,

  /** Places in the queue that one of several clients may hold for each that is left free. */
  queueHeldPerFree: 2,
  /** Priorities that clients may ask for (--priority-range). */
  priorities: { min: 0, max: 9 },
  /** Tokens of a prompt that are logged, with --log-prompts. */
  loggedPromptTokens: 256,
  /** Batches of events of the prefix caches that are kept for routers (--kv-events-replay) ... */
  kvEventBatches: 10_000,
  /** ... and their bytes. */
  kvEventBytes: 32 * 2 ** 20,
  /** Bytes of such events that all subscribers together leave unread, each an equal share. */
  unreadEventBytes: 64 * 2 ** 20,
  /** Topics that a subscriber subscribes to, and takes back. */
  eventTopics: 256,
  /** Bytes of a frame that a subscriber sends ... */
  eventFrameBytes: 1024,
  /** ... and frames of its message. */
  eventFrames: 4,
  /** Requests that /v1/requests lists. */
  listedRequests: 1000,
  /** Slots of engines that /slots lists. */
  listedSlots: 4096,
  /** Kinds of failures that /admin/status remembers, and as many kinds of refusals. */
  rememberedErrors: 100,
  /** Tokens that /tokenize spells out as bytes (`return_token_bytes`). */
  spelledTokens: 8192,

  /**
   * Longest prompt, in characters, that is rendered and tokenized on the main thread: the worst
   * text of that length, one long word, takes some 5 ms. All others go to threads
   * (--tokenizer-pool-size).
   */
  promptCharactersAtOnce: 512,
  /** Texts of more characters are made one at a time, in a thread that may take 300 bytes for each. */
  promptCharactersInTurn: 131_072,
  /** Milliseconds that a thread may spend on one prompt. */
  promptMs: 10_000,
  /** Heap of such a thread, in megabytes. */
  promptThreadMb: 1024,
  /** Tokens that /tokenize and chat's `render` answer with, where the model's length is not more. */
  answeredTokens: 131_072,

  /** Characters of a name, an id or a key in a request. */
  shortTextCharacters: 512,
  /** Characters of an error's message. */
  errorCharacters: 4096,
  /** Texts of a request that end what DRY takes for a repetition. */
  breakers: 16,
  /** Characters of such a text. */
  breakerCharacters: 64,
  /** Messages of a chat, and items of a response's input. */
  messages: 2048,
  /** Characters of `chat_template_kwargs`, with 8 for each value. */
  templateVariableCharacters: 16_384,
  /** Tools of a request. */
  tools: 512,
  /** Characters of a tool's name. */
  toolNameCharacters: 256,
  /** Characters of a tool's description. */
  toolDescriptionCharacters: 65_536,
  /** Parts of a message's content, and its tool calls. */
  messageParts: 1024,

  /** Bytes of a stored answer, its log-probabilities included; a longer one is not kept. */
  cachedAnswerBytes: 2 ** 20,
  /** Bytes of tensors whose answer is looked up: hashing them takes time in which nobody else is answered. */
  cachedInputBytes: 2 ** 21,
  /** Requests that one computed answer is for, if they are equal and come while it is computed. */
  sharedRunReaders: 256,

  /** Prompts that are computed ahead at once, and those of one client. */
  prefetches: 64,
  clientPrefetches: 16,
  /** Conversations whose next turns are computed ahead at once, and milliseconds that one may take. */
  nextTurns: 16,
  nextTurnMs: 30_000,
  /** Tokens and texts of the KV cache per one that may be pinned. */
  cacheTokensPerPinned: 4,

  /** Bytes of a conversation of the Responses API that can be gone on with, as JSON. */
  conversationBytes: 2 * 2 ** 20,
  /** Bytes of texts that the Responses API keeps, of all clients together (--response-store-size). */
  responseStoreBytes: 64 * 2 ** 20,
  /** Responses kept, whatever their size: what a response costs besides its text. */
  storedResponses: 10_000,
  /** Bytes that a kept event of a background response is counted as, besides its text. */
  keptEventBytes: 128,
  /** Streams that read such events again, and those of one client; a server without keys has one. */
  eventReaders: 64,
  clientEventReaders: 16,

  /**
   * Choices of an answer that can be taken up by another replica: each event has the positions of all.
   */
  resumableChoices: 16,
  /** Characters of the token that such an answer comes with. */
  resumeTokenCharacters: 4096,
  /** Milliseconds that this token is good for. */
  resumeMs: 24 * 3_600_000,
  /** Milliseconds in which another replica must begin to answer a request that is handed over. */
  handoverMs: 10_000,
  /** Milliseconds in which it must say that it is one; and those that DNS has to name it. */
  handoverAskMs: 2000,
  /** Other replicas that are asked. */
  handoverPeers: 64,
  /** Milliseconds that a replica is found in Redis after it last registered there. */
  replicaMs: 15_000,

  /**
   * Characters of a grammar, a regular expression or a JSON schema. Of a schema given as an object,
   * and of all the tools' that must be called together, each key and value counts as 8 at least.
   */
  grammarCharacters: 100_000,
  /** Texts of a choice that the output must be one of. */
  grammarChoices: 1000,
  /** Characters of these texts together. */
  grammarChoiceCharacters: 65_536,
  /** Levels of a JSON schema's nesting, of its combinations, and of a regular expression's groups. */
  grammarDepth: 64,
  /** Keywords and members of a JSON schema, wherever they are repeated; steps to find its bounds. */
  grammarSchemaParts: 50_000,
  /** Characters of a regular expression with its repetitions written out. */
  grammarRegexSize: 20_000,
  /** Rules of a schema's grammar. */
  grammarRules: 20_000,
  /** Characters of the grammar made from a schema, a regular expression or a choice. */
  grammarEbnfCharacters: 400_000,
  /** Threads that compile grammars (--grammar-pool-size). */
  grammarPoolSize: 2,
  /** Milliseconds of computing after which a grammar is a slow one: see GrammarPool. */
  grammarSliceMs: 250,
  /** Milliseconds of computing that a grammar may take to compile. */
  grammarCompileMs: 10_000,
  /** Bytes of memory that compiling a grammar may take. */
  grammarMemoryBytes: 256 * 2 ** 20,
  /** Grammars of one client, and of all clients, that wait to be compiled; further ones get 429. */
  grammarsWaitingPerClient: 64,
  grammarsWaiting: 256,
  /** Characters of compiled grammars that are remembered, so that they are not looked at again. */
  grammarCacheCharacters: 16 * 2 ** 20,
  /** Threads of the engine that match texts to grammars. */
  grammarMatchThreads: 4,
  /** Milliseconds that a grammar may take to say which tokens may follow. */
  grammarMaskMs: 2000,

  /** Texts of an embeddings request; of a reranking one, its documents. */
  encoderTexts: 2048,
  /** Inputs of encoders and other models without state that may wait for a batch: one for each text. */
  batchQueue: 8192,
  /** Bytes of all that wait. */
  batchQueueBytes: 256 * 2 ** 20,
  /** Bytes of a batch's inputs; a single request may have more. */
  batchBytes: 16 * 2 ** 20,
  /** Rows of a batch, and of a request of tensors (--max-batch-size). */
  batchRows: 64,
  /** Tokens of a batch of texts with their padding; a single text may have more (--max-batch-tokens). */
  batchTokens: 4096,
  /** Milliseconds that a model may take over a batch; then its process is replaced (--step-timeout). */
  batchMs: 60_000,

  /** Bytes of a file of /v1/files, and of all files with what batches write (--batch-disk). */
  fileBytes: 200 * 2 ** 20,
  filesBytes: 4 * 2 ** 30,
  /** Files, and those of one client; what batches made included. */
  files: 10_000,
  clientFiles: 1000,
  /** Files that are being uploaded, and those of one client. */
  uploads: 16,
  clientUploads: 4,
  /** Seconds that a file is kept, and a batch after its end. */
  fileSeconds: 30 * 86_400,
  /** Requests of a batch, and bytes of each. */
  batchLines: 50_000,
  batchLineBytes: 2 ** 20,
  /** Empty lines of its file. */
  batchEmptyLines: 51_000,
  /** Texts of a line for /v1/embeddings: its answer is put together in memory. */
  batchLineTexts: 256,
  /** Batches of one client that are kept; of more the oldest that ended is forgotten. */
  clientBatches: 1000,
  /** Batches that wait or run, and those of one client. */
  openBatches: 1000,
  clientOpenBatches: 100,
  /** Seconds that a batch may take. */
  batchSeconds: 86_400,

  /** Streams of `/models/sse`, and those of one client; a server without keys has one client. */
  modelListeners: 64,
  clientModelListeners: 16,
  /** Streams of `/admin/steps`. */
  stepWatchers: 16,
  /** Characters of events that wait for a client of such a stream; beyond them it loses steps. */
  stepWatcherCharacters: 2 ** 21,
  /** Largest n for watching every n-th iteration. */
  stepsEvery: 1000,
  /** Requests that wait in the queue and are shown there. */
  watchedQueue: 64,
  /** Models that are downloaded at once because clients said so. */
  pulls: 2,
  /** Models that one client's requests have loaded in a minute (--model-control auto). */
  clientLoadsPerMinute: 10,

  /** Tensors of a request, inputs and outputs each; also their parameters, and the request's. */
  tensors: 64,
  tensorParameters: 64,
  /** Dimensions of a tensor. */
  tensorDimensions: 8,
  /** Elements of a tensor of texts; those of numbers are bounded by the body. */
  tensorStrings: 65_536,
  /**
   * Bytes of the outputs of a request of tensors, or of its vectors of tokens or labels; they are in the
   * front's memory until they are sent.
   */
  tensorOutputBytes: 64 * 2 ** 20,
  /** Bytes of such answers that wait to be read, of one client: beyond it those that it does not read are cut ... */
  clientUnreadAnswerBytes: 128 * 2 ** 20,
  /** ... and of all clients; one has half of them at most. */
  unreadAnswerBytes: 768 * 2 ** 20,
  /** Milliseconds within which a client reads 16 KiB of each. */
  unreadAnswerMs: 250,
  /** Bytes of memory that a model's process may take over a batch of them, weights left out. */
  tensorRunBytes: 512 * 2 ** 20,
  /** Elements of all outputs that are answered as JSON; raw bytes have no such limit. */
  tensorJsonElements: 1_048_576,

  /** Milliseconds of the last `loopWindowMs` in which the front's event loop stood still: /livez fails. */
  loopStalledMs: 15_000,
  /** Milliseconds that /livez looks back. */
  loopWindowMs: 30_000,
  /** Milliseconds without a word of an engine that has work: /ready fails. */
  engineSilentMs: 15_000,
} as const;
